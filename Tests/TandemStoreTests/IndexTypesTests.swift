import FoundationEssentials
import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Indexes over attributes of every type, compared with a scan.
@Suite(.ownThread) struct IndexTypesTests {
    private static func model(isIndexed: Bool) -> ManagedObjectModel {
        let types = AttributeType.allCases
        return ManagedObjectModel {
            Entity("Thing", indexes: isIndexed ? types.map { [$0.rawValue + "Value"] } : []) {
                for type in types { Attribute(type.rawValue + "Value", type) }
            }
        }
    }

    private func value(_ type: AttributeType, _ random: inout SplitMix64) -> PropertyValue {
        let number = Int64.random(in: -6...6, using: &random)
        let isLarge = Bool.random(using: &random)
        return switch type {
        case .bool: .bool(number > 0)
        case .int: .int(isLarge ? number << 55 + number : number)
        case .double: .double(Double(number) / 4)
        case .decimal:
            .decimal((Decimal(string: "1000000000000000000000.5") ?? 1) * Decimal(number))
        case .string: .string(String(repeating: "ab", count: isLarge ? 300 : 0) + "\(number)é")
        case .date: .date(Double(number) * 86_400.25)
        case .data: .data([UInt8](repeating: UInt8(number + 6), count: isLarge ? 600 : 2))
        case .uuid:
            .uuid(UUID(uuid: (UInt8(number + 6), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)))
        case .url: .url("https://example.org/\(number)")
        }
    }

    @Test(arguments: AttributeType.allCases)
    func `an index finds what a scan finds`(_ type: AttributeType) throws {
        var random = SplitMix64(seed: seed)
        let indexed = try StoreBench(model: Self.model(isIndexed: true))
        let plain = try StoreBench(model: Self.model(isIndexed: false))
        let name = type.rawValue + "Value"
        let values = (0..<60).map { _ in
            Bool.random(using: &random) ? value(type, &random) : PropertyValue.null
        }
        for bench in [indexed, plain] {
            try bench.apply(
                try values.enumerated().map {
                    try bench.insert("Thing", UInt64($0.offset + 1), [name: $0.element])
                })
        }
        let isOrdered = ![.bool, .uuid, .url, .data].contains(type)
        for wanted in Set(values.filter { !$0.isNull }) {
            for comparison in isOrdered ? ["==", "<", "<=", ">", ">="] : ["=="] {
                let format = "\(name) \(comparison) %@"
                let found = try indexed.numbers("Thing", format, [wanted])
                let scanned = try plain.numbers("Thing", format, [wanted])
                #expect(found == scanned, "\(format) \(wanted)")
                #expect(comparison != "==" || !found.isEmpty)
            }
        }
        let wanted = try #require(values.first { !$0.isNull })
        let plan = try indexed.fetch(
            FetchDescriptor(
                entity: "Thing",
                predicate: try ObjectPredicate(format: "\(name) == %@", arguments: [.value(wanted)])
            )
        ).plan
        #expect(plan.hasPrefix("index"), "\(plan)")
        #expect(
            try indexed.numbers("Thing", "\(name) == nil")
                == plain.numbers("Thing", "\(name) == nil"))
        let report = try indexed.store.check()
        #expect(report.isClean, "\(report.findings)")
    }
}
