package import TandemModel
import TestSupport

/// The shared objects that all writers of a soak change.
struct SoakGraph {
    static let model = """
        {"entities": {"Bucket": {"attributes": {"name": {"type": "string"},
        "rank": {"type": "int", "default": 0}}, "relationships": {
        "items": {"to": "Item", "inverse": "bucket", "toMany": true}}},
        "Item": {"attributes": {"name": {"type": "string"}, "size": {"type": "int", "default": 0},
        "text": {"type": "string"}}, "relationships": {
        "bucket": {"to": "Bucket", "inverse": "items"},
        "tags": {"to": "Tag", "inverse": "items", "toMany": true}},
        "uniqueness": [["name"]], "indexes": [["size"]]},
        "Tag": {"attributes": {"name": {"type": "string"}}, "relationships": {
        "items": {"to": "Item", "inverse": "tags", "toMany": true}}}}}
        """

    var buckets: [String] = []
    var tags: [String] = []

    /// The save that creates the objects.
    static var beginning: JSON {
        var ops: [JSON] = []
        for (index, name) in ["a", "b", "c", "d", "e"].enumerated() {
            ops.append([
                "insert": "Bucket", "as": .string("b\(index)"),
                "set": ["name": .string(name), "rank": .int(Int64(index))],
            ])
            guard index < 3 else { continue }
            ops.append([
                "insert": "Tag", "as": .string("t\(index)"), "set": ["name": .string(name)],
            ])
        }
        return ["do": "save", "ops": .array(ops)]
    }

    /// Creates the graph from the objects in the answer to that save.
    init(_ objects: JSON?) {
        buckets = (0..<5).compactMap { objects?["b\($0)"]?.string }
        tags = (0..<3).compactMap { objects?["t\($0)"]?.string }
    }
}

/// The sequence of a writer's saves, a pure function of its seed and of the ids that it received in
/// answers.
struct SaverScript {
    /// A save with its id.
    struct Save {
        var id: String
        var request: JSON
    }

    /// The number of items above which a writer deletes as many as it inserts.
    private static let mostItems = 30

    private let name: String
    private let graph: SoakGraph
    private var random: SplitMix64
    private var count = 0
    /// The writer's items, oldest first.
    private var items: [String] = []

    init(_ name: String, _ graph: SoakGraph, seed: UInt64) {
        self.name = name
        self.graph = graph
        random = SplitMix64(seed: seed)
    }

    /// Returns the next save; large ones make the journal grow quickly.
    mutating func next(isLarge: Bool) -> Save {
        count += 1
        let id = "\(name) \(count)"
        var ops = [insertion(id, isLarge ? 12_000 : 60)]
        if chance(2), let item = items.randomElement(using: &random) { ops.append(change(item)) }
        if chance(8), let bucket = graph.buckets.randomElement(using: &random) {
            ops.append([
                "update": .string(bucket),
                "set": ["name": .string(letter()), "rank": number(5)],
            ])
        }
        if items.count > Self.mostItems { ops.append(["delete": .string(items.removeFirst())]) }
        let request: JSON = [
            "do": "save", "saveId": .string(id), "policy": "overwrite", "ops": .array(ops),
        ]
        return Save(id: id, request: request)
    }

    /// Records the id of the item that the last save inserted.
    mutating func inserted(_ item: String?) {
        if let item { items.append(item) }
    }

    /// Returns true with a probability of 1 in `many`.
    mutating func chance(_ many: Int) -> Bool { Int.random(in: 0..<many, using: &random) == 0 }

    private mutating func insertion(_ name: String, _ bytes: Int) -> JSON {
        [
            "insert": "Item", "as": "new",
            "set": [
                "name": .string(name), "size": number(10), "bucket": bucket(),
                "text": .string(String(repeating: letter(), count: bytes)),
            ],
        ]
    }

    private mutating func change(_ item: String) -> JSON {
        let tag = JSON.array([.string(graph.tags.randomElement(using: &random) ?? "")])
        return [
            "update": .string(item), "set": ["size": number(10), "bucket": bucket()],
            chance(3) ? "remove" : "add": ["tags": tag],
        ]
    }

    private mutating func bucket() -> JSON {
        chance(6) ? .null : .string(graph.buckets.randomElement(using: &random) ?? "")
    }

    private mutating func number(_ bound: Int64) -> JSON {
        .int(Int64.random(in: 0..<bound, using: &random))
    }

    private mutating func letter() -> String {
        ["a", "b", "c", "d", "e", "f"].randomElement(using: &random) ?? ""
    }
}

extension JSON: ExpressibleByDictionaryLiteral, ExpressibleByStringLiteral,
    ExpressibleByArrayLiteral
{
    /// Creates an object; the last of several members with the same name counts.
    package init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }

    /// Creates an array.
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }

    /// Creates a string.
    package init(stringLiteral value: String) { self = .string(value) }
}
