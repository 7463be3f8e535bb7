/// A comparison of two models, name by name.
struct ModelComparison {
    let base: ManagedObjectModel
    let next: ManagedObjectModel
    /// The entities that have objects, including objects of subentities.
    var filled: Set<String> = []

    private static let isStricter = "stored objects must satisfy it"
    private static let isRelaxed = "a relaxed rule"
    private static let changedRuleReason = "apps with the old model rely on the old rule"
    private static let incompatibleRemedy = "drop it, and add a relationship with a different name"

    init(base: ManagedObjectModel, next: ManagedObjectModel) {
        self.base = base
        self.next = next
    }

    func differences() -> [ModelDifference] {
        Set(base.entities.keys).union(next.entities.keys).sorted().flatMap {
            (name) -> [ModelDifference] in
            switch (base.entities[name], next.entities[name]) {
            case (let old?, let new?): return compare(old, new)
            case (nil, _?):
                return [
                    ModelDifference(
                        name, nil, .declaration, from: nil, to: "entity", .compatible,
                        "compatible")
                ]
            default:
                return [
                    ModelDifference(
                        name, nil, .declaration, from: "entity", to: nil, .loses,
                        "its objects are deleted")
                ]
            }
        }
    }

    private func compare(_ old: Entity, _ new: Entity) -> [ModelDifference] {
        var found: [ModelDifference] = []
        if old.parent != new.parent {
            found.append(
                ModelDifference(
                    new.name, nil, .parent, from: old.parent, to: new.parent, .impossible,
                    "objects keep their superentities; add a new entity"))
        }
        for name in Set(old.ownNames).union(new.ownNames).sorted() {
            found += compare(name, old, new)
        }
        found += lists(.uniqueness, old.uniqueness, new.uniqueness, new.name)
        found += lists(.index, old.indexes, new.indexes, new.name)
        return found
    }

    private func compare(_ name: String, _ old: Entity, _ new: Entity) -> [ModelDifference] {
        if let before = old.attributes[name], let after = new.attributes[name] {
            return compare(before, after, new.name)
        }
        if let before = old.relationships[name], let after = new.relationships[name] {
            return compare(before, after, new.name)
        }
        var found: [ModelDifference] = []
        if let lost = old.attributes[name]?.summary ?? old.relationships[name]?.summary {
            let isDerived = old.attributes[name]?.derived != nil
            found.append(
                ModelDifference(
                    new.name, name, .declaration, from: lost, to: nil,
                    isDerived ? .changesRules : .loses,
                    isDerived ? Self.changedRuleReason : "its values are lost"))
        }
        if let attribute = new.attributes[name] {
            let needs =
                !attribute.optional && attribute.defaultValue.isNull && attribute.derived == nil
            found.append(added(new.name, name, attribute.summary, needs, "or give it a default"))
        }
        if let relationship = new.relationships[name] {
            found.append(
                added(new.name, name, relationship.summary, !relationship.optional, "at first"))
        }
        return found
    }

    private func added(
        _ entity: String, _ property: String, _ summary: String, _ needsValue: Bool, _ way: String
    ) -> ModelDifference {
        let isRefused = needsValue && filled.contains(entity)
        return ModelDifference(
            entity, property, .declaration, from: nil, to: summary,
            isRefused ? .needsCheck : .compatible,
            isRefused
                ? "existing objects have no value: make it optional \(way)"
                : "compatible")
    }

    private func lists(
        _ aspect: ModelDifference.Aspect, _ old: [[String]], _ new: [[String]], _ entity: String
    ) -> [ModelDifference] {
        func text(_ list: [String]) -> String { "[\(list.joined(separator: ", "))]" }
        let lost = old.filter { !new.contains($0) }.map {
            ModelDifference(
                entity, nil, aspect, from: text($0), to: nil, .compatible,
                aspect == .index ? "no data is lost" : Self.isRelaxed)
        }
        let isRule = aspect == .uniqueness && filled.contains(entity)
        return lost
            + new.filter { !old.contains($0) }.map {
                ModelDifference(
                    entity, nil, aspect, from: nil, to: text($0),
                    isRule ? .needsCheck : .compatible,
                    isRule ? Self.isStricter : "compatible")
            }
    }

    // MARK: Attributes

    private func compare(
        _ old: Attribute, _ new: Attribute, _ entity: String
    ) -> [ModelDifference] {
        var found = Collector(entity: entity, property: new.name)
        if old.type != new.type {
            let way = ValueConversion(from: old.type, to: new.type)
            found.add(
                .type, old.type.rawValue, new.type.rawValue, way == nil ? .impossible : .loses,
                way?.summary ?? "there is no conversion; add an attribute with a different name")
        }
        found.addOptional(old.optional, new.optional)
        if old.defaultValue != new.defaultValue {
            found.add(
                .defaultValue, old.defaultValue.modelText, new.defaultValue.modelText,
                .changesRules, Self.changedRuleReason)
        }
        compare(values: old.allowedValues, new.allowedValues, &found)
        found.addLimits(old.minimum, new.minimum, old.maximum, new.maximum) { $0.text }
        if old.pattern != new.pattern {
            found.addRule(.pattern, old.pattern, new.pattern, isRelaxed: new.pattern == nil)
        }
        found.addDerivation(old.derived, new.derived)
        return found.found
    }

    private func compare(
        values old: [PropertyValue]?, _ new: [PropertyValue]?, _ found: inout Collector
    ) {
        guard old.map(Set.init) != new.map(Set.init) else { return }
        func text(_ values: [PropertyValue]?) -> String? {
            values.map { JSON.array($0.map(\.modelJSON)).text }
        }
        let isRelaxed = new.map { new in old.map { Set(new).isSuperset(of: $0) } ?? false } ?? true
        found.addRule(.values, text(old), text(new), isRelaxed: isRelaxed)
    }

    // MARK: Relationships

    private func compare(
        _ old: Relationship, _ new: Relationship, _ entity: String
    ) -> [ModelDifference] {
        var found = Collector(entity: entity, property: new.name)
        if old.destination != new.destination {
            found.add(
                .destination, old.destination, new.destination, .impossible, Self.incompatibleRemedy
            )
        }
        if old.inverse != new.inverse {
            found.add(.inverse, old.inverse, new.inverse, .impossible, Self.incompatibleRemedy)
        }
        if old.toMany != new.toMany {
            found.add(
                .toMany, "\(old.toMany)", "\(new.toMany)", .impossible, Self.incompatibleRemedy)
        }
        if old.ordered != new.ordered {
            found.add(
                .ordered, "\(old.ordered)", "\(new.ordered)", .impossible, Self.incompatibleRemedy)
        }
        if old.deleteRule != new.deleteRule {
            found.add(
                .deleteRule, old.deleteRule.rawValue, new.deleteRule.rawValue, .changesRules,
                Self.changedRuleReason)
        }
        found.addOptional(old.optional, new.optional)
        found.addLimits(old.minimum, new.minimum, old.maximum, new.maximum) { "\($0)" }
        return found.found
    }
}

/// A collector of the differences of one property.
private struct Collector {
    let entity: String
    let property: String
    var found: [ModelDifference] = []

    mutating func add(
        _ aspect: ModelDifference.Aspect, _ from: String?, _ to: String?,
        _ effect: ModelDifference.Effect, _ why: String
    ) {
        found.append(ModelDifference(entity, property, aspect, from: from, to: to, effect, why))
    }

    mutating func addRule(
        _ aspect: ModelDifference.Aspect, _ from: String?, _ to: String?, isRelaxed: Bool
    ) {
        add(
            aspect, from, to, isRelaxed ? .compatible : .needsCheck,
            isRelaxed ? "a relaxed rule" : "stored objects must satisfy it")
    }

    mutating func addDerivation(_ old: Derivation?, _ new: Derivation?) {
        guard old != new else { return }
        let (effect, why): (ModelDifference.Effect, String) =
            switch (old, new) {
            case (_, nil): (.changesRules, "its values are kept and can be set")
            case (nil, _): (.loses, "its values are replaced by computed ones")
            default: (.changesRules, "its values are recomputed")
            }
        add(.derived, old?.description, new?.description, effect, why)
    }

    mutating func addOptional(_ old: Bool, _ new: Bool) {
        if old != new { addRule(.optional, "\(old)", "\(new)", isRelaxed: new) }
    }

    mutating func addLimits<Limit: Comparable>(
        _ oldLow: Limit?, _ newLow: Limit?, _ oldHigh: Limit?, _ newHigh: Limit?,
        _ text: (Limit) -> String
    ) {
        if oldLow != newLow {
            let isRelaxed = newLow.map { new in oldLow.map { new < $0 } ?? false } ?? true
            addRule(.minimum, oldLow.map(text), newLow.map(text), isRelaxed: isRelaxed)
        }
        if oldHigh != newHigh {
            let isRelaxed = newHigh.map { new in oldHigh.map { new > $0 } ?? false } ?? true
            addRule(.maximum, oldHigh.map(text), newHigh.map(text), isRelaxed: isRelaxed)
        }
    }
}

extension Attribute {
    /// A short description.
    fileprivate var summary: String {
        var parts = [type.rawValue]
        if !optional { parts.append("required") }
        if let text = defaultValue.modelText { parts.append("default \(text)") }
        if let derived { parts.append("derived \(derived)") }
        return parts.joined(separator: ", ")
    }
}

extension Relationship {
    /// A short description.
    fileprivate var summary: String {
        "to-\(toMany ? "many" : "one") \(destination)" + (optional ? "" : ", required")
    }
}

extension PropertyValue {
    fileprivate var modelText: String? { isNull ? nil : modelJSON.text }
}
