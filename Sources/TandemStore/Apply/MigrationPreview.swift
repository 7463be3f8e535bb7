package import TandemModel

extension Store {
    /// Returns what installing a model would do to the stored objects, without writing anything.
    ///
    /// Cost: reads the rows of every entity whose values are lost, converted or checked against a
    /// new rule. A new uniqueness constraint needs 24 bytes of memory per object.
    package func preview(of next: CompiledModel) throws(StoreError) -> MigrationReport {
        guard let model else {
            var report = MigrationReport()
            report.items = ManagedObjectModel().differences(to: next.model).map {
                MigrationReport.Item($0)
            }
            return report
        }
        let differences = try model.model.differences(to: next.model) {
            (name) throws(StoreError) -> Bool in
            guard let entity = model.entity(named: name) else { return false }
            return try hasObjects(of: entity)
        }
        let preview = MigrationPreview(self, from: model, to: next, differences)
        try preview.run()
        return preview.report
    }
}

/// Scans the stored rows, and counts the values that a model change loses or converts, and those
/// that violate its rules.
private final class MigrationPreview {
    private let store: Store
    private let old: CompiledModel
    private let new: CompiledModel
    private let dropped: Set<EntityTag>
    private(set) var report = MigrationReport()
    /// The index of the problem that counts the violations of a rule.
    private var problems: [Rule: Int] = [:]

    /// A kind of rule for a property, whose violations are counted as one problem.
    private struct Rule: Hashable {
        enum Kind { case presence, value, uniqueness }
        let entity: String
        let property: String
        let kind: Kind
    }

    init(
        _ store: Store, from old: CompiledModel, to new: CompiledModel,
        _ differences: [ModelDifference]
    ) {
        self.store = store
        self.old = old
        self.new = new
        dropped = StoreMigration.dropped(from: old, to: new)
        report.items = differences.map { MigrationReport.Item($0) }
    }

    func run() throws(StoreError) {
        for entity in old.entities {
            guard let later = new.entity(tagged: entity.tag) else {
                let count = try store.count(of: entity.tag)
                addCounts(entity.name, nil, .declaration, objects: count, lost: count)
                continue
            }
            try inspect(entity, later)
        }
        for index in Set(new.entities.flatMap(\.uniqueness)).sorted(by: { $0.id < $1.id }) {
            try checkUnique(index)
        }
        report.problems.sort {
            ($0.entity, $0.property, $0.message) < ($1.entity, $1.property, $1.message)
        }
    }

    /// Adds counts to the report item of a difference; `entity` is the entity that declares the
    /// property.
    private func addCounts(
        _ entity: String, _ property: String?, _ aspect: ModelDifference.Aspect, objects: Int,
        lost: Int
    ) {
        assert(lost <= objects, "At most one value is lost per object.")
        guard objects > 0,
            let index = report.items.firstIndex(where: {
                $0.difference.entity == entity && $0.difference.property == property
                    && $0.difference.aspect == aspect
            })
        else { return }
        report.items[index].objects += objects
        report.items[index].lost += lost
    }

    // MARK: Rows

    private func inspect(_ old: CompiledEntity, _ new: CompiledEntity) throws(StoreError) {
        let plan = RowMigration(from: old, to: new, dropped: dropped)
        let kept = Set(new.properties.compactMap { plan.source(of: $0.slot) })
        let lost = old.properties.filter { !kept.contains($0.slot) && $0.derivation == nil }
        let suspects = new.properties.filter { isSuspect($0, old, plan) }
        let converted = new.properties.filter { plan.converts($0.slot) }
        guard !lost.isEmpty || !suspects.isEmpty || !converted.isEmpty else {
            return report.rewritten += try store.count(of: old.tag)
        }
        var losses = [Int](repeating: 0, count: old.properties.count)
        var conversions = [(Int, Int)](repeating: (0, 0), count: new.properties.count)
        try store.rows(of: old.tag) { (stored) throws(StoreError) in
            report.rewritten += 1
            for property in lost where try has(property, stored, old) { losses[property.slot] += 1 }
            let values = plan.values(of: stored.row)
            for property in converted {
                guard let source = plan.source(of: property.slot),
                    !stored.row.isNull(source, in: old)
                else { continue }
                conversions[property.slot].0 += 1
                conversions[property.slot].1 += plan.loses(property.slot, of: stored.row) ? 1 : 0
            }
            for property in suspects {
                guard let message = try problem(property, values, stored) else { continue }
                let isMissing =
                    property.relationship?.toMany != true && values[property.slot].isNull
                let rule = Rule(
                    entity: new.name, property: property.name,
                    kind: isMissing ? .presence : .value)
                add(message, rule, stored.object)
            }
        }
        for property in lost {
            let count = losses[property.slot]
            // A property that still exists here has become a derived one.
            let isThere = new.property(named: property.name) != nil
            addCounts(
                owner(of: property, new, old), property.name, isThere ? .derived : .declaration,
                objects: count, lost: count)
        }
        for property in converted {
            let (all, bad) = conversions[property.slot]
            addCounts(owner(of: property, new, new), property.name, .type, objects: all, lost: bad)
        }
    }

    private func has(
        _ property: CompiledProperty, _ stored: Store.Stored, _ entity: CompiledEntity
    ) throws(StoreError) -> Bool {
        guard let relationship = property.relationship, relationship.toMany else {
            return !stored.row.isNull(property.slot, in: entity)
        }
        return try store.memberCount(of: stored.object.number, relationship, atMost: 1) > 0
    }

    /// Returns the new name of the entity that declares a property.
    private func owner(
        of property: CompiledProperty, _ new: CompiledEntity, _ declaring: CompiledEntity
    ) -> String {
        let model = declaring === new ? self.new : old
        let tag = declaring.ancestors.first { tag in
            guard let entity = model.entity(tagged: tag),
                let declared = model.model.entities[entity.name]
            else { return false }
            return declared.attributes[property.name] != nil
                || declared.relationships[property.name] != nil
        }
        return tag.flatMap { self.new.entity(tagged: $0)?.name } ?? new.name
    }

    // MARK: Rules

    /// Returns whether stored values may violate a rule of the new model for the property.
    private func isSuspect(
        _ property: CompiledProperty, _ old: CompiledEntity, _ plan: RowMigration
    ) -> Bool {
        guard let source = plan.source(of: property.slot) else { return property.needsValue }
        let before = old.properties[source]
        if let attribute = property.attribute {
            return plan.converts(property.slot)
                || before.attribute.map { !$0.allows(attribute) } ?? true
        }
        guard let relationship = property.relationship, let earlier = before.relationship else {
            return false
        }
        let leadsToDropped =
            !dropped.isDisjoint(
                with: self.old.entity(tagged: earlier.destination)?.descendants ?? [])
        return relationship.declaration.isStricter(than: earlier.declaration)
            || (leadsToDropped && (!relationship.isOptional || relationship.limitsCount))
    }

    private func problem(
        _ property: CompiledProperty, _ values: [PropertyValue], _ stored: Store.Stored
    ) throws(StoreError) -> String? {
        guard let relationship = property.relationship else {
            do {
                return try property.problem(with: values[property.slot]) {
                    try store.content(of: $0)
                }
            } catch {
                throw error as? StoreError ?? StoreError(.failed, "\(error)")
            }
        }
        guard relationship.toMany else {
            let isMissing = !relationship.isOptional && values[property.slot].isNull
            return isMissing ? CompiledProperty.missingObjectMessage : nil
        }
        guard relationship.limitsCount else { return nil }
        let members = try store.members(of: stored.object.number, relationship)
        return relationship.problem(withCount: members.count { !dropped.contains($0.tag) })
    }

    private func add(_ message: String, _ rule: Rule, _ object: ObjectReference) {
        let name = new.entity(tagged: object.tag)?.name ?? rule.entity
        let id = ObjectID(entity: name, number: object.number)
        guard let index = problems[rule] else {
            problems[rule] = report.problems.count
            return report.problems.append(
                MigrationReport.Problem(
                    entity: rule.entity, property: rule.property, message: message, count: 1,
                    objects: [id]))
        }
        report.problems[index].count += 1
        if report.problems[index].objects.count < MigrationReport.objectsNamed {
            report.problems[index].objects.append(id)
        }
    }

    // MARK: Uniqueness

    /// Finds objects that would have the same unique values.
    ///
    /// Does nothing if neither the constraint nor any of its values is new.
    private func checkUnique(_ index: CompiledIndex) throws(StoreError) {
        guard let declaring = new.entity(tagged: index.entity) else { return }
        var keys: [(first: UInt64, second: UInt64, number: ObjectNumber, tag: EntityTag)] = []
        for tag in declaring.descendants {
            guard let before = old.entity(tagged: tag), let after = new.entity(tagged: tag) else {
                continue
            }
            let plan = RowMigration(from: before, to: after, dropped: dropped)
            let isKept = before.uniqueness.contains { $0.id == index.id }
            if isKept, index.mask.intersection(plan.changed).isEmpty { return }
            try store.rows(of: tag) { (stored) throws(StoreError) in
                let row = Row(plan.values(of: stored.row), of: after, version: new.version)
                guard index.slots.allSatisfy({ !row.isNull($0, in: after) }) else { return }
                let hash = StableHash(StoreKey.tuple(index, row, after))
                keys.append((hash.first, hash.second, stored.object.number, tag))
            }
        }
        keys.sort { ($0.first, $0.second, $0.number) < ($1.first, $1.second, $1.number) }
        let rule = Rule(
            entity: declaring.name, property: index.properties.joined(separator: ", "),
            kind: .uniqueness)
        for (key, next) in zip(keys, keys.dropFirst())
        where (key.first, key.second) == (next.first, next.second) {
            let other = new.id(of: ObjectReference(tag: key.tag, number: key.number))
            add(
                "\(other) has the same values", rule,
                ObjectReference(tag: next.tag, number: next.number))
        }
    }
}

extension Attribute {
    /// Whether the rules of `next` allow every value that this attribute's rules allow.
    fileprivate func allows(_ next: Attribute) -> Bool {
        if optional && !next.optional && next.defaultValue.isNull { return false }
        if let values = next.allowedValues {
            guard let allowedValues, Set(values).isSuperset(of: allowedValues) else { return false }
        }
        if let low = next.minimum {
            guard let minimum, minimum >= low else { return false }
        }
        if let high = next.maximum {
            guard let maximum, maximum <= high else { return false }
        }
        return next.pattern == nil || next.pattern == pattern
    }
}

extension Relationship {
    /// Whether stored relationships that satisfy `before` may violate this declaration.
    fileprivate func isStricter(than before: Relationship) -> Bool {
        (before.optional && !optional)
            || (minimum ?? 0) > (before.minimum ?? 0)
            || (maximum ?? .max) < (before.maximum ?? .max)
    }
}
