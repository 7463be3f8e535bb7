import TandemModel
import TestWorlds
import Testing

/// The graph of a random model, read through a bridge as plain values, and random saves to it.
struct BridgeGraph {
    let model: ManagedObjectModel
    private(set) var dump = Dump([])

    init(_ model: ManagedObjectModel) { self.model = model }

    // MARK: Reading

    /// Returns an entity's properties, including inherited ones, and the names of the entity and
    /// its ancestors.
    private func properties(
        of entity: String
    ) -> (attributes: [Attribute], relationships: [Relationship], entities: [String]) {
        var chain: [Entity] = []
        var name: String? = entity
        while let next = name.flatMap({ model.entities[$0] }) {
            chain.append(next)
            name = next.parent
        }
        return (
            chain.flatMap { $0.attributes.values }.sorted { $0.name < $1.name },
            chain.flatMap { $0.relationships.values }.sorted { $0.name < $1.name },
            chain.map(\.name)
        )
    }

    /// Reads all objects through a bridge.
    mutating func read(_ bridge: BridgeProcess) throws {
        var objects: [Dump.Object] = []
        for entity in model.entities.keys.sorted() {
            let (attributes, relationships, entities) = properties(of: entity)
            let names = attributes.map(\.name) + relationships.map(\.name)
            if names.isEmpty { continue }
            let quoted = names.map { "\"\($0)\"" }.joined(separator: ", ")
            let answer = try bridge.ask(
                #"""
                {"do": "fetch", "entity": "\#(entity)", "includesSubentities": false, "properties": [\#(quoted)]}
                """#)
            for object in try #require(answer["objects"]?.array) {
                var copy = Dump.Object(try BridgeTable.number(object["id"]), entities)
                let values = object["values"]
                for attribute in attributes {
                    copy.values[attribute.name] = value(values?[attribute.name], attribute.type)
                }
                for relationship in relationships {
                    try apply(values?[relationship.name], relationship, &copy)
                }
                objects.append(copy)
            }
        }
        dump = Dump(objects)
    }

    private func apply(
        _ json: JSON?, _ relationship: Relationship, _ object: inout Dump.Object
    ) throws {
        if relationship.toMany {
            object.members[relationship.name] = try #require(json?.array)
                .map(BridgeTable.number)
        } else if let json, json != .null {
            let number = try BridgeTable.number(json)
            object.values[relationship.name] = .reference(
                ObjectReference(tag: 1, number: number))
        }
    }

    private func value(_ json: JSON?, _ type: AttributeType) -> PropertyValue {
        switch (type, json) {
        case (.double, .double(let value)): .double(value)
        case (.double, .int(let value)): .double(Double(value))
        case (.date, .double(let value)): .date(value)
        case (.date, .int(let value)): .date(Double(value))
        default: value(json)
        }
    }

    private func value(_ json: JSON?) -> PropertyValue {
        switch json {
        case .int(let value): .int(value)
        case .bool(let value): .bool(value)
        case .string(let value): .string(value)
        default: .null
        }
    }

    // MARK: Saves

    /// Returns the ops of a random save of at most four objects.
    func ops(_ random: inout SplitMix) -> [String] {
        var gone: Set<UInt64> = []
        return (0..<(1 + random.next(4))).map { at in op(at, &gone, &random) }
    }

    private func ids(_ entity: String) -> [Dump.Object] {
        dump.objects.values.filter { $0.entities.contains(entity) }
            .sorted { $0.number < $1.number }
    }

    private func id(_ object: Dump.Object) -> String { "\(object.entities[0])/\(object.number)" }

    private func op(_ at: Int, _ gone: inout Set<UInt64>, _ random: inout SplitMix) -> String {
        let entity = RandomWorld.entities[random.next(RandomWorld.entities.count)]
        let all = ids(entity).filter { !gone.contains($0.number) }
        let kind = random.next(10)
        if all.count < 3 || kind < 3 {
            let set = change(entity, gone, &random).set
            return #"{"insert": "\#(entity)", "as": "n\#(at)", "set": {\#(set)}}"#
        }
        let object = all[random.next(all.count)]
        if kind == 3 {
            gone.insert(object.number)
            return #"{"delete": "\#(id(object))"}"#
        }
        let (set, add, remove) = change(object.entities[0], gone, &random)
        return
            #"{"update": "\#(id(object))", "set": {\#(set)}, "add": {\#(add)}, "remove": {\#(remove)}}"#
    }

    private func change(
        _ entity: String, _ gone: Set<UInt64>, _ random: inout SplitMix
    ) -> (set: String, add: String, remove: String) {
        let (attributes, relationships, _) = properties(of: entity)
        var sets: [String: String] = [:]
        var members: [String: (isAdded: Bool, target: String)] = [:]
        for _ in 0..<(1 + random.next(3)) {
            let pick = random.next(attributes.count + relationships.count)
            if pick < attributes.count {
                sets[attributes[pick].name] = value(attributes[pick], &random)
                continue
            }
            let relationship = relationships[pick - attributes.count]
            let targets = ids(relationship.destination).filter { !gone.contains($0.number) }
            guard !targets.isEmpty else { continue }
            let target = "\"\(id(targets[random.next(targets.count)]))\""
            if relationship.toMany {
                members[relationship.name] = (random.next(3) > 0, target)
            } else {
                sets[relationship.name] = random.next(4) == 0 ? "null" : target
            }
        }
        func text(_ isAdded: Bool) -> String {
            members.filter { $0.value.isAdded == isAdded }.sorted { $0.key < $1.key }
                .map { "\"\($0.key)\": [\($0.value.target)]" }.joined(separator: ", ")
        }
        let set = sets.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value)" }
        return (set.joined(separator: ", "), text(true), text(false))
    }

    private func value(_ attribute: Attribute, _ random: inout SplitMix) -> String {
        if random.next(6) == 0 { return "null" }
        return switch attribute.type {
        case .int: "\(random.next(4))"
        case .bool: random.next(2) == 0 ? "true" : "false"
        case .double, .date: "\(RandomWorld.numbers[random.next(RandomWorld.numbers.count)])"
        default: "\"\(RandomWorld.names[random.next(RandomWorld.names.count)])\""
        }
    }
}
