import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Files in folders of folders, with labels: every kind of relationship, and indexes over one and
/// over several properties.
let shelfModel = ManagedObjectModel {
    Entity("Folder", indexes: [["kind"], ["depth", "kind"]]) {
        Attribute("kind", .string)
        Attribute("depth", .int)
        Relationship("parent", to: "Folder", inverse: "children")
        Relationship("children", to: "Folder", inverse: "parent", toMany: true)
        Relationship("files", to: "File", inverse: "folder", toMany: true)
    }
    Entity(
        "File", uniqueness: [["code"], ["shelf", "place"]],
        indexes: [
            ["size"], ["kind", "size"], ["kind", "rate", "name"], ["name"], ["price"],
            ["folder", "size"],
        ]
    ) {
        Attribute("kind", .string)
        Attribute("name", .string)
        Attribute("size", .int)
        Attribute("rate", .double)
        Attribute("price", .decimal)
        Attribute("isOld", .bool)
        Attribute("code", .int)
        Attribute("shelf", .int)
        Attribute("place", .int)
        Relationship("folder", to: "Folder", inverse: "files")
        Relationship("labels", to: "Label", inverse: "files", toMany: true)
    }
    Entity("Image", parent: "File") { Attribute("width", .int) }
    Entity("Label", indexes: [["color"]]) {
        Attribute("color", .string)
        Relationship("files", to: "File", inverse: "labels", toMany: true)
    }
}

extension StoreBench {
    /// Returns a store with 2,000 files in 20 folders of 100 each, one of them rare, with sizes
    /// from 0 to 99; every 500th file has the only red label.
    static func files() throws -> StoreBench {
        let bench = try StoreBench(model: shelfModel)
        let files = try (UInt64(100)..<2_100).map { try bench.reference("File", $0) }
        let red = try bench.reference("Label", 50)
        let labelled = files.filter { $0.number % 500 == 0 }
        var changes = [
            try bench.insert("Label", 50, ["color": .string("red")]),
            try bench.insert("Label", 51, ["color": .string("blue")]),
            try bench.touch("Label", 50, "files", added: labelled),
        ]
        for folder in UInt64(1)...20 {
            let kind = PropertyValue.string(folder == 7 ? "rare" : "usual")
            let members = files.filter { $0.number % 20 == folder % 20 }
            changes.append(try bench.insert("Folder", folder, ["kind": kind]))
            changes.append(try bench.touch("Folder", folder, "files", added: members))
        }
        for file in files {
            let number = file.number
            let folder = try bench.reference("Folder", number % 20 == 0 ? 20 : number % 20)
            let values: [String: PropertyValue] = [
                "size": .int(Int64(number % 100)), "kind": .string(number < 200 ? "a" : "b"),
                "rate": .double(Double(number)), "folder": .reference(folder),
                "code": .int(Int64(number)), "shelf": .int(Int64(number / 100)),
                "place": .int(Int64(number % 100)),
            ]
            changes.append(try bench.insert("File", number, values))
        }
        for file in labelled {
            changes.append(try bench.touch("File", file.number, "labels", added: [red]))
        }
        try bench.apply(changes)
        return bench
    }
}

/// A random shelf, in which objects are inserted, changed and deleted.
struct RandomShelf {
    let bench: StoreBench
    var random: SplitMix64
    private var next: UInt64 = 1
    private(set) var living: [UInt64: String] = [:]
    private var folderOf: [UInt64: UInt64] = [:]
    private var parentOf: [UInt64: UInt64] = [:]
    private var labelsOf: [UInt64: Set<UInt64>] = [:]
    private var codes: [Int64: UInt64] = [:]
    private var places: [[Int64]: UInt64] = [:]
    let kinds = ["a", "b", "bb", "c\u{0}d", "é"]
    private let names =
        ["", "n", "na", "nab", "z"]
        + [479, 480, 481, 600].map { String(repeating: "q", count: $0) }

    init(_ bench: StoreBench, seed: UInt64) {
        self.bench = bench
        random = SplitMix64(seed: seed)
    }

    init(seed: UInt64, objects: Int) throws {
        self.init(try StoreBench(model: shelfModel), seed: seed)
        for _ in 0..<objects { try insert() }
    }

    mutating func step() throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4: try insert()
        case 4..<8: try update()
        default: try delete()
        }
    }

    // MARK: Values

    private mutating func or(_ nilIn: Int, _ value: PropertyValue) -> PropertyValue {
        Int.random(in: 0..<nilIn, using: &random) == 0 ? .null : value
    }

    private mutating func values(_ name: String) -> [String: PropertyValue] {
        let kind = or(6, .string(kinds.randomElement(using: &random) ?? ""))
        switch name {
        case "Folder":
            return ["kind": kind, "depth": or(6, .int(.random(in: 0...4, using: &random)))]
        case "Label": return ["color": kind]
        default:
            let number = Int64.random(in: -20...20, using: &random)
            return [
                "kind": kind, "size": or(8, .int(number)),
                "name": or(8, .string(names.randomElement(using: &random) ?? "")),
                "rate": or(4, .double(Double(number % 3) / 2)),
                "price": or(4, .decimal(.init(number % 4))),
                "isOld": or(3, .bool(number > 0)),
            ]
        }
    }

    /// Returns unique values that no other file has, or null, which any number of files may have.
    private mutating func claim(_ number: UInt64) -> [String: PropertyValue] {
        release(number)
        let code = Int64.random(in: 0...40, using: &random)
        let place = [4, 9].map { Int64.random(in: 0...$0, using: &random) }
        var values: [String: PropertyValue] = [
            "code": .null, "shelf": .int(place[0]), "place": .null,
        ]
        if codes[code] == nil {
            codes[code] = number
            values["code"] = .int(code)
        }
        if places[place] == nil {
            places[place] = number
            values["place"] = .int(place[1])
        }
        return values
    }

    private mutating func release(_ number: UInt64) {
        codes = codes.filter { $0.value != number }
        places = places.filter { $0.value != number }
    }

    mutating func pick(_ names: [String]) -> UInt64? {
        living.filter { names.contains($0.value) }.keys.sorted().randomElement(using: &random)
    }

    // MARK: Changes

    mutating func insert() throws {
        let number = next
        next += UInt64.random(in: 1...3, using: &random)
        let name =
            ["Folder", "File", "File", "File", "Image", "Label"].randomElement(using: &random)
            ?? "File"
        var own = values(name)
        if ["File", "Image"].contains(name) { own.merge(claim(number)) { $1 } }
        try bench.apply([try bench.insert(name, number, own)])
        living[number] = name
        try relink(number, name)
    }

    mutating func update() throws {
        guard let number = pick(["Folder", "File", "Image", "Label"]), let name = living[number]
        else { return }
        var some = values(name).filter { _ in Bool.random(using: &random) }
        if ["File", "Image"].contains(name), Bool.random(using: &random) {
            some.merge(claim(number)) { $1 }
        }
        if !some.isEmpty { try bench.apply([try bench.update(name, number, some)]) }
        try relink(number, name)
    }

    mutating func delete() throws {
        guard let number = pick(["File", "Image"]), let name = living[number] else { return }
        try link(number, name, "folder", in: "Folder", "files", to: nil, \.folderOf)
        for label in labelsOf[number] ?? [] { try toggle(label, of: number, name) }
        try bench.apply([try bench.delete(name, number)])
        release(number)
        living[number] = nil
    }

    private mutating func relink(_ number: UInt64, _ name: String) throws {
        switch name {
        case "Folder":
            let parent = pick(["Folder"]).flatMap { $0 < number ? $0 : nil }
            try link(number, name, "parent", in: "Folder", "children", to: parent, \.parentOf)
        case "Label": break
        default:
            try link(
                number, name, "folder", in: "Folder", "files", to: pick(["Folder"]), \.folderOf)
            if let label = pick(["Label"]) { try toggle(label, of: number, name) }
        }
    }

    private mutating func link(
        _ number: UInt64, _ name: String, _ property: String, in owner: String, _ inverse: String,
        to target: UInt64?, _ known: WritableKeyPath<RandomShelf, [UInt64: UInt64]>
    ) throws {
        let old = self[keyPath: known][number]
        guard old != target else { return }
        let own = try bench.reference(name, number)
        let value =
            try target.map { PropertyValue.reference(try bench.reference(owner, $0)) } ?? .null
        var changes = [try bench.update(name, number, [property: value])]
        if let old { changes.append(try bench.touch(owner, old, inverse, removed: [own])) }
        if let target { changes.append(try bench.touch(owner, target, inverse, added: [own])) }
        try bench.apply(changes)
        self[keyPath: known][number] = target
    }

    private mutating func toggle(_ label: UInt64, of file: UInt64, _ name: String) throws {
        let (one, other) = (try bench.reference(name, file), try bench.reference("Label", label))
        let isThere = labelsOf[file]?.contains(label) ?? false
        try bench.apply([
            isThere
                ? try bench.touch(name, file, "labels", removed: [other])
                : try bench.touch(name, file, "labels", added: [other]),
            isThere
                ? try bench.touch("Label", label, "files", removed: [one])
                : try bench.touch("Label", label, "files", added: [one]),
        ])
        if isThere {
            labelsOf[file]?.remove(label)
        } else {
            labelsOf[file, default: []].insert(label)
        }
    }

    // MARK: Requests

    private mutating func some(_ texts: [String]) -> String {
        texts.randomElement(using: &random) ?? ""
    }

    private mutating func condition() -> String {
        let number = Int.random(in: -20...20, using: &random)
        let more = Int.random(in: -20...20, using: &random)
        let kind = some(["a", "b", "bb", "é", "x"])
        let comparison = some(["==", "<", "<=", ">", ">=", "!="])
        switch Int.random(in: 0..<21, using: &random) {
        case 0, 1: return "size \(comparison) \(number)"
        case 2: return "size BETWEEN {\(min(number, more)), \(max(number, more))}"
        case 3: return "size IN {\(number), \(more), \(number), 3}"
        case 4, 5: return "kind == '\(kind)'"
        case 6: return "kind BEGINSWITH '\(kind.prefix(1))'"
        case 7: return "kind IN {'a', '\(kind)'}"
        case 8: return "kind == nil"
        case 9: return "name BEGINSWITH '\(String(repeating: "q", count: abs(number) * 26))'"
        case 10: return "name \(comparison) '\(String(repeating: "q", count: abs(number) * 26))'"
        case 11: return "rate \(comparison) \(Double(number % 3) / 2)"
        case 12: return "price \(comparison) \(number % 4)"
        case 13: return "isOld == \(number > 0 ? "YES" : "NO")"
        case 14: return related(comparison)
        case 15, 16:
            return "code IN {\(number), \(more), \(abs(number) + 20), \(abs(more)), \(more)}"
        case 17: return "shelf IN {1, \(number % 5)} AND place IN {3, \(more % 10), 9}"
        case 18: return "ANY labels == CAST('Label/\(pick(["Label"]) ?? 1)', 'Object')"
        default: return either(number, more, kind)
        }
    }

    /// Returns a disjunction of several conditions, most of which have an index.
    private mutating func either(_ number: Int, _ more: Int, _ kind: String) -> String {
        let file = pick(["File", "Image"]) ?? 1
        let label = pick(["Label"]) ?? 1
        let folder = pick(["Folder"]) ?? 1
        return some([
            "(size > \(number) OR kind == '\(kind)')", "(size == \(number) OR size == \(more))",
            "(size < \(number) OR (kind == '\(kind)' AND size > \(more)) OR name == nil)",
            "(folder == CAST('Folder/\(folder)', 'Object') OR kind BEGINSWITH 'b' OR price == 1)",
            "(code IN {\(abs(number)), \(more)} OR code == \(abs(more) + 20))",
            "(code == \(abs(number)) OR size == \(more) OR (shelf == 2 AND place IN {1, 3}))",
            "(size == \(number) OR isOld == YES)", "(kind == 'a' OR NOT kind == '\(kind)')",
            "ANY labels == CAST('Label/\(label)', 'Object')",
            "ANY folder.files == CAST('File/\(file)', 'Object')",
        ])
    }

    mutating func related(_ comparison: String) -> String {
        let kind = some(["a", "b", "bb", "é", "x"])
        let depth = Int.random(in: 0...4, using: &random)
        return some([
            "folder.kind == '\(kind)'", "folder.depth \(comparison) \(depth)",
            "folder.kind BEGINSWITH '\(kind)' AND folder.depth >= \(depth)",
            "folder.parent.kind == '\(kind)'", "folder.parent.parent.depth IN {1, \(depth)}",
            "ANY labels.color == '\(kind)'", "ANY labels.color BETWEEN {'a', '\(kind)'}",
            "ANY folder.files.size > \(depth)", "NONE labels.color == '\(kind)'",
            "folder.kind == nil", "ALL labels.color == '\(kind)'",
        ])
    }

    mutating func request() throws -> FetchDescriptor {
        let count = Int.random(in: 0...3, using: &random)
        let text = (0..<count).map { _ in condition() }.joined(separator: " AND ")
        var request = FetchDescriptor(entity: some(["File", "File", "Image"]))
        if !text.isEmpty { request.predicate = try ObjectPredicate(format: text) }
        let keys = [
            "size", "kind", "rate", "name", "price", "folder.kind", "isOld", "folder",
        ].filter { $0 != "folder" }
        let sorts = [
            [], [], [], ["size"], ["-size"], ["kind", "size"], ["kind", "-size"],
            ["-kind", "size"],
            ["-kind", "-size"], ["name"], ["-name"], ["kind", "-rate", "name"], ["size", "size"],
            ["-kind", "rate", "-name"], ["-kind", "-rate"], [some(keys), "-" + some(keys)],
        ]
        request.sort = (sorts.randomElement(using: &random) ?? []).compactMap { SortComponent($0) }
        request.includesSubentities = Int.random(in: 0..<5, using: &random) > 0
        if Int.random(in: 0..<3, using: &random) > 0 {
            request.limit = Int.random(in: 0...12, using: &random)
            request.offset = Int.random(in: 0...6, using: &random)
        }
        return request
    }

    // MARK: Expected results

    /// Returns the objects that match a request, sorted by key, by evaluating every existing
    /// object.
    func expected(_ request: FetchDescriptor) throws -> [ObjectReference] {
        try matches(try CompiledRequest(request, in: try bench.model)).map(\.object)
    }

    /// Returns the rows that match a request, sorted by key, by evaluating every existing object.
    func matches(_ request: CompiledRequest) throws -> [StoredObject] {
        let reader = StoreReader(bench.store)
        var found: [(key: [UInt8], stored: StoredObject)] = []
        for (number, name) in living {
            let object = try bench.reference(name, number)
            guard request.includes(tag: object.tag), let stored = try bench.store.stored(object),
                request.matches(object, stored.row, reader) == true
            else { continue }
            found.append((try #require(request.sortKey(object, stored.row, reader)), stored))
        }
        return found.sorted {
            $0.key == $1.key
                ? $0.stored.object < $1.stored.object : $0.key.lexicographicallyPrecedes($1.key)
        }.map(\.stored)
    }
}

extension FetchDescriptor {
    /// Returns the slice of a list that offset and limit select.
    func slice<Element>(of list: [Element]) -> [Element] {
        Array(list.dropFirst(max(0, offset)).prefix(limit.map { max(0, $0) } ?? .max))
    }
}

extension CompiledRequest {
    /// Returns the name of an object's section; empty without sections.
    func sectionName(_ object: ObjectReference, _ row: Row, _ reader: StoreReader) -> String {
        guard case .known(let name) = section(object, row, reader) else { return "" }
        return name
    }
}
