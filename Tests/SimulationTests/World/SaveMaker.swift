import TandemModel
import TandemWire

/// Generates saves: links of every kind, conflicts, stale versions, deletions.
struct SaveMaker {
    let model: CompiledModel
    let truth: Truth
    /// Whether values are long, so that queues and segments fill.
    let isFat: Bool
    /// Returns the next leased number.
    let allocateNumber: () -> UInt64?

    /// Returns a few operations, at most one for each object.
    func operations(_ chance: inout Chance) -> [SaveOperation] {
        var operations: [SaveOperation] = []
        var used: Set<ObjectNumber> = []
        for _ in 0..<chance.number(1...3) {
            guard let operation = operation(&chance, &used) else { continue }
            operations.append(operation)
        }
        return operations
    }

    private func operation(
        _ chance: inout Chance, _ used: inout Set<ObjectNumber>
    ) -> SaveOperation? {
        let kind = chance.below(100)
        if kind < 45 { return insertion(&chance, &used) }
        let names = ["Node", "Node", "Leaf", "Group", "Tag", "Badge"]
        guard let name = chance.pick(names), let object = existing(name, &chance),
            used.insert(object.number).inserted
        else { return insertion(&chance, &used) }
        return kind < 85
            ? update(object, &chance)
            : .delete(object: object, baseVersion: base(object, &chance).version)
    }

    // MARK: Objects

    private func existing(_ name: String, _ chance: inout Chance) -> ObjectReference? {
        guard let entity = model.entity(named: name),
            let number = chance.pick(truth.objects(of: entity, at: truth.last)),
            let tag = truth.tags[number], model.entity(tagged: tag) != nil
        else { return nil }
        return ObjectReference(tag: tag, number: number)
    }

    /// Returns a version that the client might have seen: the newest, an older one, or none.
    private func base(
        _ object: ObjectReference, _ chance: inout Chance
    ) -> (version: UInt64, image: Truth.Image?) {
        let share = chance.below(100)
        if share < 25 { return (0, nil) }
        let at =
            share < 70 ? truth.last : truth.last - UInt64(chance.below(Int(min(20, truth.last))))
        guard let image = truth.image(object.number, at: at) else { return (0, nil) }
        return (image.version, image)
    }

    // MARK: Operations

    private func insertion(
        _ chance: inout Chance, _ used: inout Set<ObjectNumber>
    ) -> SaveOperation? {
        guard
            let entity = chance.pick(["Node", "Node", "Leaf", "Group", "Tag", "Badge", "Extra"])
                .flatMap({ model.entity(named: $0) }), let number = allocateNumber()
        else { return nil }
        let object = ObjectReference(tag: entity.tag, number: number)
        used.insert(number)
        var values: [SlotValue] = []
        var links: [LinkChange] = []
        for property in entity.properties where chance.percent(60) {
            if let value = value(property, &chance) {
                values.append(SlotValue(slot: property.slot, value: value))
            } else if property.isToMany, let member = member(property, &chance) {
                links.append(link(property, member, isAdded: true, &chance))
            }
        }
        return .insert(object: object, values: values, links: links)
    }

    private func update(_ object: ObjectReference, _ chance: inout Chance) -> SaveOperation? {
        guard let entity = model.entity(tagged: object.tag) else { return nil }
        let (version, image) = base(object, &chance)
        let then = truth.model(at: image?.position ?? 0)?.entity(tagged: object.tag)
        var values: [SaveValue] = []
        var links: [LinkChange] = []
        for property in entity.properties where chance.percent(30) {
            if let value = value(property, &chance) {
                let base = then?.slot(of: property.name).flatMap { image?.values?[$0] }
                values.append(SaveValue(slot: property.slot, value: value, base: base))
            } else if property.isToMany, let member = member(property, &chance) {
                let isAdded = chance.percent(60)
                links.append(link(property, member, isAdded: isAdded, &chance))
            }
        }
        return .update(object: object, baseVersion: version, values: values, links: links)
    }

    /// Returns a link that adds or removes a member.
    ///
    /// In an ordered relationship, an added member has a rank or goes to the end. The link may also
    /// only change the rank of a member.
    private func link(
        _ property: CompiledProperty, _ member: ObjectReference, isAdded: Bool,
        _ chance: inout Chance
    ) -> LinkChange {
        let slot = property.slot
        guard isAdded, property.relationship?.isOrdered == true, chance.percent(70) else {
            return LinkChange(slot: slot, target: member, isAdded: isAdded)
        }
        let rank = Rank([UInt8(chance.number(1...9))])
        return LinkChange(
            slot: slot, target: member, chance.percent(60) ? .add : .place, rank: rank)
    }

    private func value(_ property: CompiledProperty, _ chance: inout Chance) -> PropertyValue? {
        switch property.kind {
        case .relationship(let relationship):
            guard !relationship.toMany else { return nil }
            return member(property, &chance).map { .reference($0) } ?? .null
        case .attribute(let attribute):
            switch attribute.type {
            case .int: return .int(Int64(chance.number(-9...9)))
            case .string where property.name == "code":
                return chance.percent(30) ? .null : .string("code \(chance.below(8))")
            default: return .string(text(&chance))
            }
        }
    }

    private func text(_ chance: inout Chance) -> String {
        let length = isFat && chance.percent(40) ? chance.number(1...40_000) : chance.below(30)
        let letter = Character(Unicode.Scalar(UInt8(97 + chance.below(26))))
        return String(repeating: letter, count: length)
    }

    private func member(_ property: CompiledProperty, _ chance: inout Chance) -> ObjectReference? {
        guard let relationship = property.relationship,
            let entity = model.entity(tagged: relationship.destination)
        else { return nil }
        return existing(entity.name, &chance)
    }
}

/// The models of a world; each later one serves clients of the earlier ones.
enum WorldModels {
    /// The number of models.
    static let count = 3

    /// Returns the model of a stage, from 0.
    ///
    /// Added properties come first by name, so that every slot changes.
    static func model(_ stage: Int) -> ManagedObjectModel {
        ManagedObjectModel {
            Entity("Node", uniqueness: [["code"]], indexes: [["rank"]]) {
                Attribute("name", .string)
                Attribute("code", .string)
                Attribute("rank", .int, default: .int(1), min: -100, max: 100)
                if stage > 0 { Attribute("alpha", .string, default: .string("a")) }
                Relationship("badge", to: "Badge", inverse: "owner", deleteRule: .cascade)
                Relationship("spouse", to: "Node", inverse: "spouse")
                Relationship("group", to: "Group", inverse: "nodes")
                Relationship("parent", to: "Node", inverse: "children")
                Relationship(
                    "children", to: "Node", inverse: "parent", toMany: true, ordered: true,
                    deleteRule: .cascade)
                Relationship("tags", to: "Tag", inverse: "nodes", toMany: true, ordered: true)
                Relationship(
                    "friends", to: "Node", inverse: "friends", toMany: true, ordered: true)
            }
            Entity("Leaf", parent: "Node") { Attribute("colour", .string) }
            Entity("Badge") {
                Attribute("text", .string)
                Relationship("owner", to: "Node", inverse: "badge")
            }
            Entity("Group") {
                if stage > 1 { Attribute("alpha", .int, default: .int(3)) }
                Attribute("title", .string)
                Relationship("nodes", to: "Node", inverse: "group", toMany: true, deleteRule: .deny)
            }
            Entity("Tag") {
                // A save made under the previous model would mix up these two attributes.
                if stage > 0 { Attribute("kind", .string) }
                Attribute("label", .string)
                Relationship(
                    "nodes", to: "Node", inverse: "tags", toMany: true, deleteRule: .noAction)
            }
            if stage > 1 { Entity("Extra") { Attribute("rank", .int) } }
        }
    }

    static let texts = (0..<count).map { model($0).json.text }
}
