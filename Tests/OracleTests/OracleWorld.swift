import Foundation
import Tandem
import TandemIO
import TestSupport

/// A random model with objects, in plain dictionaries.
struct OracleWorld {
    /// A randomly chosen relationship, to-one or to-many, with the name of its inverse.
    struct Link {
        var name: String
        var owner: String
        var target: String
        var isToMany: Bool
        var inverse: String
    }

    /// An object: its values, and the objects of its relationships.
    struct Object {
        var entity: String
        var values: [String: PropertyValue] = [:]
        var links: [String: [UInt64]] = [:]
    }

    var random: SeededGenerator
    private(set) var model = ManagedObjectModel()
    /// The attributes of each entity by name, including inherited ones.
    private(set) var attributes: [String: [String: AttributeType]] = [:]
    /// The derivations of attributes, including inherited ones.
    private(set) var derivations: [String: [String: Derivation]] = [:]
    /// The relationships of each entity, including inherited ones.
    private(set) var links: [String: [Link]] = [:]
    /// The names of all entities; the last inherits from the first.
    private(set) var entities: [String] = []
    var objects: [UInt64: Object] = [:]
    /// The objects that have unique values, by entity.
    private var holders: [String: [[PropertyValue]: UInt64]] = [:]

    static let texts = [
        "", "a", "ab", "b", "B", "ba", "é", "ab*", "a?c", "𝄞", "zz", "É", "Ab", "éb",
        "a2", "A10", "a10", "a02", "a9b", "a10b", "9", "10", "00", "é 9/3", "É 10/3", "é 010/2",
    ]

    static let urls = ["http://a", "http://a/b", "x:b", "x:B", "https://é"]

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        entities = (0..<Int.random(in: 2...3, using: &random)).map { "E\($0)" }
        for name in entities { attributes[name] = drawnAttributes(name) }
        for index in 0..<Int.random(in: 2...4, using: &random) { drawLinks(index) }
        for name in entities { drawDerived(name) }
        let parent = entities[0]
        entities.append("Sub")
        attributes["Sub"] = attributes[parent, default: [:]].merging(["own": .int]) { $1 }
        links["Sub"] = links[parent, default: []]
        derivations["Sub"] = derivations[parent, default: [:]]
        makeModel(parent)
    }

    private mutating func drawnAttributes(_ name: String) -> [String: AttributeType] {
        let types: [AttributeType] = [
            .int, .double, .string, .bool, .date, .decimal, .uuid, .url, .data,
        ]
        var drawn: [String: AttributeType] = ["n": .int, "t": .string]
        for name in OracleWorld.unique.joined() { drawn[name] = name == "v" ? .string : .int }
        for index in 0..<Int.random(in: 1...3, using: &random) {
            drawn["x\(index)"] = types.randomElement(using: &random) ?? .int
        }
        return drawn
    }

    /// The uniqueness constraints of every entity: a number, and a text with another number.
    static let unique = [["u"], ["v", "w"]]

    /// Adds derived attributes: a folded text, and the member counts of relationships.
    private mutating func drawDerived(_ name: String) {
        var drawn: [String: Derivation] = ["f": .folded("t")]
        for link in links[name] ?? [] where link.isToMany && Bool.random(using: &random) {
            drawn["c" + link.name] = .count(link.name)
        }
        derivations[name] = drawn
        for (derived, derivation) in drawn {
            attributes[name]?[derived] = derivation == .folded("t") ? .string : .int
        }
    }

    private mutating func drawLinks(_ index: Int) {
        let owner = entities.randomElement(using: &random) ?? entities[0]
        let target = entities.randomElement(using: &random) ?? entities[0]
        let isMany = Int.random(in: 0..<3, using: &random) == 0
        let (there, back) = ("r\(index)", "s\(index)")
        links[owner, default: []].append(
            Link(name: there, owner: owner, target: target, isToMany: isMany, inverse: back))
        links[target, default: []].append(
            Link(name: back, owner: target, target: owner, isToMany: true, inverse: there))
    }

    private mutating func makeModel(_ parent: String) {
        for name in entities where name != "Sub" {
            var entity = Entity(
                name, uniqueness: OracleWorld.unique, indexes: drawnIndexes(name)
            ) {}
            for (attribute, type) in attributes[name] ?? [:] {
                entity.attributes[attribute] = Attribute(
                    attribute, type, derived: derivations[name]?[attribute])
            }
            for link in links[name] ?? [] {
                entity.relationships[link.name] = Relationship(
                    link.name, to: link.target, inverse: link.inverse, toMany: link.isToMany)
            }
            model.entities[name] = entity
        }
        model.entities["Sub"] = Entity("Sub", parent: parent) { Attribute("own", .int) }
    }

    private mutating func drawnIndexes(_ name: String) -> [[String]] {
        let toOne = (links[name] ?? []).filter { !$0.isToMany }.map(\.name)
        let columns = ((attributes[name] ?? [:]).keys.sorted() + toOne)
        var drawn: Set<[String]> = []
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            let count = Int.random(in: 1...3, using: &random)
            drawn.insert(Array(columns.shuffled(using: &random).prefix(count)))
        }
        return drawn.sorted { $0.lexicographicallyPrecedes($1) }
    }

    // MARK: Values

    mutating func value(_ type: AttributeType) -> PropertyValue {
        let number = Int64.random(in: -5...5, using: &random)
        return switch type {
        case .bool: .bool(number > 0)
        case .double: .double(Double(number) / 2)
        case .date: .date(Double(number) * 1_000.5)
        case .decimal: .decimal(Decimal(number) / 4)
        case .uuid:
            .uuid(
                UUID(uuid: (UInt8(number + 5), 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))
        case .url: .url(Self.urls.randomElement(using: &random) ?? "")
        case .data: .data((0..<UInt8(number + 5) / 3).map { $0 })
        case .string: .string(Self.texts.randomElement(using: &random) ?? "")
        default: .int(number)
        }
    }

    /// Returns new values for an object; unique values are not in use by another object.
    mutating func values(for number: UInt64, of entity: String) -> [String: PropertyValue] {
        var values: [String: PropertyValue] = [:]
        for (name, type) in (attributes[entity] ?? [:]).sorted(by: { $0.key < $1.key })
        where derivations[entity]?[name] == nil {
            values[name] = Int.random(in: 0..<6, using: &random) == 0 ? .null : value(type)
        }
        claim(&values, for: number, of: entity == "Sub" ? entities[0] : entity)
        return values
    }

    /// Chooses unique values, or null, which any number of objects may have.
    private mutating func claim(
        _ values: inout [String: PropertyValue], for holder: UInt64, of entity: String
    ) {
        var held = holders[entity, default: [:]].filter { $0.value != holder }
        for names in OracleWorld.unique {
            let last = names[names.count - 1]
            let number = Int64.random(in: -5...(names.count == 1 ? 1_500 : 90), using: &random)
            if values[last] != .null { values[last] = .int(number) }
            let own = names.map { values[$0] ?? .null }
            if own.contains(.null) { continue }
            if held[own] == nil { held[own] = holder } else { values[last] = .null }
        }
        holders[entity] = held
    }

    /// Returns the value of an object's attribute, including derived ones; null if there is no such
    /// object.
    func value(_ number: UInt64, _ name: String) -> PropertyValue {
        guard let object = objects[number] else { return .null }
        switch derivations[object.entity]?[name] {
        case nil: return object.values[name] ?? .null
        case .count(let link): return .int(Int64(reached(number, link).count))
        case .folded(let source):
            guard case .string(let text)? = object.values[source] else { return .null }
            return .string(OracleExpression.Folding(isCase: true, isMark: true).folded(text))
        }
    }

    func numbers(of entity: String, withSub: Bool = true) -> [UInt64] {
        objects.filter { is_($0.value.entity, entity, withSub) }.keys.sorted()
    }

    private func is_(_ name: String, _ entity: String, _ withSub: Bool) -> Bool {
        name == entity || withSub && name == "Sub" && entity == entities[0]
    }

    /// Returns the objects of a relationship.
    func reached(_ number: UInt64, _ name: String) -> [UInt64] {
        objects[number]?.links[name] ?? []
    }

    /// Sets a relationship of an object at both ends.
    mutating func set(_ link: Link, of number: UInt64, to targets: [UInt64]) {
        let isBackToMany = links[link.target]?.first { $0.name == link.inverse }?.isToMany ?? true
        for old in reached(number, link.name) {
            objects[old]?.links[link.inverse]?.removeAll { $0 == number }
        }
        objects[number]?.links[link.name] = []
        for target in targets {
            if !isBackToMany {
                for other in reached(target, link.inverse) {
                    objects[other]?.links[link.name]?.removeAll { $0 == target }
                }
                objects[target]?.links[link.inverse] = []
            }
            objects[number]?.links[link.name, default: []].append(target)
            if !reached(target, link.inverse).contains(number) {
                objects[target]?.links[link.inverse, default: []].append(number)
            }
        }
    }
}
