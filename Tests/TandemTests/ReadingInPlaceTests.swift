import FoundationEssentials
import TandemEmbedded
import TandemModel
import TestSupport
import TestWorlds
import Testing

@testable import Tandem

/// An app's own type, stored as an integer.
private enum Grade: Int, CaseIterable, AttributeConvertible { case none, good, best }

/// A class with every attribute type, declared in each possible way.
private final class Kind: ManagedObject, ManagedEntity {
    @Managed("bool") var bool: Bool
    @Managed("bool") var anyBool: Bool?
    @Managed("int") var int: Int
    @Managed("int") var anyInt: Int64?
    @Managed("double") var double: Double
    @Managed("double") var anyDouble: Double?
    @Managed("date") var date: Date
    @Managed("date") var anyDate: Date?
    @Managed("text") var text: String
    @Managed("text") var anyText: String?
    @Managed("decimal") var decimal: Decimal?
    @Managed("bytes") var bytes: Data?
    @Managed("code") var code: UUID?
    @Managed("site") var site: URL?
    @Managed("grade") var grade: Grade
    @Managed("aNameOfMoreThanFifteenBytes") var long: String?
    @Managed("next") var next: Kind?

    static let entity = Entity("Kind") {
        Attribute("bool", .bool)
        Attribute("int", .int)
        Attribute("double", .double)
        Attribute("date", .date)
        Attribute("text", .string)
        Attribute("decimal", .decimal)
        Attribute("bytes", .data)
        Attribute("code", .uuid)
        Attribute("site", .url)
        Attribute("grade", .int)
        Attribute("aNameOfMoreThanFifteenBytes", .string)
        Relationship("next", to: "Kind", inverse: "previous")
        Relationship("previous", to: "Kind", inverse: "next", toMany: true)
    }
}

/// The values of all properties of an object of that class.
private struct AllShown: ObjectValue, Equatable {
    var fixed: [String]
    var optional: [String?]
    var others: [String?]

    init(_ kind: RowReader<Kind>) {
        fixed = [
            "\(kind.bool)", "\(kind.int)", "\(kind.double)", "\(kind.date.timeIntervalSince1970)",
            kind.text, "\(kind.grade)",
        ]
        optional = [
            kind.anyBool.map { "\($0)" }, kind.anyInt.map { "\($0)" },
            kind.anyDouble.map { "\($0)" }, kind.anyDate.map { "\($0.timeIntervalSince1970)" },
            kind.anyText,
        ]
        others = [
            kind.decimal.map { "\($0)" }, kind.bytes.map { "\(Array($0))" },
            kind.code?.uuidString, kind.site?.absoluteString, kind.long, kind.next?.id.description,
        ]
    }

    /// Creates the same values from the object's dynamic values, whatever the types of its
    /// properties.
    init(valuesOf kind: Kind) {
        func text(_ name: String) -> String? {
            switch kind[name] {
            case .null: nil
            case .bool(let value): "\(value)"
            case .int(let value): "\(value)"
            case .double(let value), .date(let value): "\(value)"
            case .string(let value), .url(let value): value
            case .decimal(let value): "\(value)"
            case .data(let value): "\(value)"
            case .uuid(let value): value.uuidString
            case .reference: kind.object(name)?.id.description
            case .blob, .longText: "outside"
            }
        }
        let grade = text("grade").flatMap { Int($0) }.flatMap(Grade.init(rawValue:)) ?? .none
        fixed = [
            text("bool") ?? "false", text("int") ?? "0", text("double") ?? "0.0",
            text("date") ?? "0.0", text("text") ?? "", "\(grade)",
        ]
        optional = ["bool", "int", "double", "date", "text"].map(text)
        others =
            ["decimal", "bytes", "code", "site", "aNameOfMoreThanFifteenBytes", "next"].map(text)
    }
}

/// Properties read in place in their row, compared with the object's values.
@MainActor @Suite struct ReadingInPlaceTests {
    private let daemon: EmbeddedDaemon
    private let writer: ManagedObjectContext
    private let reader: ManagedObjectContext

    init() throws {
        let daemon = try EmbeddedDaemon(.inMemory())
        self.daemon = daemon
        func context(_ name: String) -> ManagedObjectContext {
            PersistentContainer(entities: [Kind.self], author: name, transport: daemon.transport)
                .makeContext(name: name)
        }
        (writer, reader) = (context("writer"), context("reader"))
    }

    private func set(_ kind: Kind, _ random: inout SplitMix) {
        func some<Value>(_ value: Value) -> Value? { random.next(4) == 0 ? nil : value }
        let number = Int(truncatingIfNeeded: random.next())
        kind.anyBool = some(number % 2 == 0)
        kind.anyInt = some(Int64(number))
        kind.anyDouble = some(Double(number) / 8)
        kind.anyDate = some(Date(timeIntervalSince1970: Double(number % 1_000_000) / 4))
        let texts = ["", "é", "short", "longer than what fits a word", "\u{1F600} beyond sixteen"]
        kind.anyText = some(
            random.next(12) == 0
                ? String(repeating: "x", count: 66_000) : texts[random.next(texts.count)])
        kind.decimal = some(Decimal(number % 10_000) / 100)
        kind.bytes = some(Data(repeating: 7, count: random.next(3) * 9))
        kind.code = some(UUID())
        kind.site = some(URL(string: "https://example.org/\(number % 9)")).flatMap { $0 }
        kind["grade"] = some(.int(Int64(random.next(3)))) ?? .null
        kind.long = some("text \(number % 9)")
    }

    @Test func `properties read in place equal the object's values`() throws {
        let seed = Seed.value(0)
        var random = SplitMix(seed)
        var kinds: [Kind] = []
        for _ in 0..<60 {
            let kind = try writer.insert(Kind.self)
            set(kind, &random)
            kind.next = kinds.randomElement(using: &random)
            kinds.append(kind)
        }
        #expect(
            kinds.map { AllShown(RowReader($0)) } == kinds.map { AllShown(valuesOf: $0) },
            "seed \(seed)")
        try writer.save()
        let saved = kinds.map { AllShown(valuesOf: $0) }
        #expect(kinds.map { AllShown(RowReader($0)) } == saved, "seed \(seed)")
        // Twice, so that the second pass uses known names.
        for _ in 0..<2 {
            #expect(Set(try reader.fetchValues(AllShown.self).map(\.key)) == Set(saved.map(\.key)))
            reader.refreshAllObjects()
        }
        let found = try reader.fetch(Kind.self)
        #expect(
            found.map { AllShown(RowReader($0)) } == found.map { AllShown(valuesOf: $0) },
            "seed \(seed)")
        #expect(
            Set(found.map { AllShown(RowReader($0)).key }) == Set(saved.map(\.key)), "seed \(seed)")
    }

    @Test func `an edit, a merge and a deletion show at once`() throws {
        let (kind, end) = (try writer.insert(Kind.self), try writer.insert(Kind.self))
        (kind.int, kind.text, kind.next) = (1, "a", end)
        try reader.reach(try writer.save())
        let seen = try #require(try reader.fetch(Kind.self, where: .text("int == 1")).first)
        #expect(seen.int == 1 && seen.text == "a" && seen.next?.id == end.id)
        seen.int = 2
        #expect(seen.int == 2 && seen.text == "a" && seen.anyInt == 2)
        seen.anyText = nil
        #expect(seen.text == "" && seen.anyText == nil)
        reader.rollback()
        #expect(seen.int == 1 && seen.text == "a")
        kind.text = "b"
        writer.delete(end)
        #expect(kind.next == nil)
        try reader.reach(try writer.save())
        #expect(seen.text == "b" && seen.next == nil)
        reader.refresh(seen, mergeChanges: true)
        #expect(seen.isFault && seen.int == 1 && !seen.isFault)
        writer.delete(kind)
        try reader.reach(try writer.save())
        #expect(seen.int == 0 && seen.anyText == nil && seen.isDeleted)
    }

    @Test func `a property that a class declares twice can be named either way`() throws {
        #expect(try KeyPathRecorder.path(of: \Kind.bool).names == ["bool"])
        #expect(try KeyPathRecorder.path(of: \Kind.anyBool).names == ["bool"])
        #expect(try KeyPathRecorder.path(of: \Kind.next?.int).names == ["next", "int"])
        #expect(try KeyPathRecorder.path(of: \Kind.next?.anyInt).names == ["next", "int"])
    }

    @Test func `a property is not confused with one of the same name in another entity's slot`()
        throws
    {
        let entities = try (0..<400).map { number in
            let fill = (0..<number % 3).map { Attribute("a\($0)", .bool) }
            let model = ManagedObjectModel(entities: [
                Entity("E\(number)") {
                    for attribute in fill { attribute }
                    Attribute("name", .string)
                    Attribute("aNameOfMoreThanFifteenBytes", .int)
                }
            ])
            return try #require(try CompiledModel(model).entity(named: "E\(number)"))
        }
        let cache = PropertyCache()
        for _ in 0..<3 {
            for entity in entities {
                for name in ["name", "aNameOfMoreThanFifteenBytes"] {
                    let found = cache.property(_ManagedName(name), of: entity)
                    #expect(found === entity.property(named: name))
                    let entry = cache.entry(_ManagedName(name), in: entity)
                    #expect(entry?.slot == found.slot && entry?.column != nil)
                }
            }
        }
    }
}

extension AllShown {
    fileprivate var key: [String?] { fixed + optional + others }
}
