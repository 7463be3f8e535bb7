import FoundationEssentials
import TandemIO
import TandemModel
import TestSupport

let sampleModel = ManagedObjectModel {
    Entity("Bucket") {
        Attribute("name", .string, optional: false, default: .string("new"))
        Relationship(
            "contents", to: "Content", inverse: "bucket", toMany: true, deleteRule: .cascade)
    }
    Entity("Content", uniqueness: [["name"]], indexes: [["date", "name"]]) {
        Attribute("flag", .bool)
        Attribute("count", .int, values: [.int(1), .int(2)])
        Attribute("size", .double, min: 0, max: 10.5)
        Attribute("price", .decimal)
        Attribute("name", .string, renamedFrom: "title")
        Attribute("date", .date)
        Attribute("data", .data)
        Attribute("code", .uuid)
        Attribute("site", .url)
        Relationship("bucket", to: "Bucket", inverse: "contents", optional: false)
    }
    Entity("ImageContent", parent: "Content") { Attribute("width", .int) }
}

/// A generator of values of every kind.
struct RandomValue {
    var random: SplitMix64

    init(_ seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func int(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

    mutating func value(_ type: AttributeType) -> PropertyValue {
        switch type {
        case .bool: .bool(Bool.random(using: &random))
        case .int: .int(int(0..<2) == 0 ? Int64(int(-3..<4)) : Int64(bitPattern: random.next()))
        case .double: .double(number())
        case .date: .date(number())
        case .decimal: .decimal(decimal())
        case .string: .string(text())
        case .url: .url(text())
        case .data: .data((0..<int(0..<6)).map { _ in UInt8(int(0..<4)) &* 85 })
        case .uuid:
            .uuid(
                UUID(
                    uuid: (
                        1, UInt8(int(0..<256)), 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5,
                        UInt8(int(0..<3))
                    )))
        }
    }

    private mutating func number() -> Double {
        switch int(0..<4) {
        case 0: [0, -0.0, 1, -1, .infinity, -.infinity, .leastNonzeroMagnitude][int(0..<7)]
        case 1: Double(int(-5..<5)) / 4
        default:
            Double(bitPattern: random.next() & 0xbfff_ffff_ffff_ffff)
        }
    }

    private mutating func decimal() -> Decimal {
        var result = Decimal(int(-2000..<2000))
        for _ in 0..<int(0..<6) { result /= 10 }
        for _ in 0..<int(0..<4) { result *= 10 }
        return result
    }

    private mutating func text() -> String {
        let letters = ["", "a", "b", "\u{0}", "é", "\u{1F600}", "\u{ffff}", "z"]
        return (0..<int(0..<4)).map { _ in letters[int(0..<letters.count)] }.joined()
    }

    /// Returns values for a row of an entity.
    mutating func values(_ entity: CompiledEntity) -> [PropertyValue] {
        entity.properties.map { property in
            if property.isToMany || int(0..<4) == 0 { return .null }
            guard let attribute = property.attribute else {
                return .reference(ObjectReference(tag: 1, number: random.next()))
            }
            return value(attribute.type)
        }
    }
}

func compiled(_ name: String) throws -> CompiledEntity {
    guard let entity = try CompiledModel(sampleModel).entity(named: name) else {
        throw TandemError(.unknownEntity, name)
    }
    return entity
}
