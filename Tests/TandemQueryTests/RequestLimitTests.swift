import FoundationEssentials
import TandemModel
import Testing

@testable import TandemQuery

/// Requests that would overflow a stack or a number: they are refused or have no value, and never
/// trap.
@Suite struct RequestLimitTests {
    private let model = ManagedObjectModel {
        Entity("Node") {
            Attribute("m", .decimal)
            Relationship("next", to: "Node", inverse: "last")
            Relationship("last", to: "Node", inverse: "next")
            Relationship("nodes", to: "Node", inverse: "owner", toMany: true)
            Relationship("owner", to: "Node", inverse: "nodes")
        }
    }

    private func refusal(_ request: FetchDescriptor, section: String? = nil) -> TandemError.Code? {
        do {
            _ = try CompiledRequest(
                request, sectionKeyPath: section, in: try CompiledModel(model))
            return nil
        } catch let error as TandemError {
            return error.code
        } catch {
            return .usage
        }
    }

    @Test func `law 7: a key path of thousands of names is refused anywhere in a request`() throws {
        func path(_ count: Int) -> String {
            (Array(repeating: "next", count: count - 1) + ["m"]).joined(separator: ".")
        }
        let some = FetchDescriptor(
            entity: "Node", predicate: try ObjectPredicate(format: "\(path(64)) > 0"))
        #expect(refusal(some) == nil)
        for count in [65, 5_000] {
            let compared = FetchDescriptor(
                entity: "Node", predicate: try ObjectPredicate(format: "\(path(count)) > 0"))
            #expect(refusal(compared) == .limitExceeded)
            #expect(
                refusal(
                    FetchDescriptor(
                        entity: "Node", sort: [SortComponent(path(count), ascending: true)]))
                    == .limitExceeded)
            #expect(
                refusal(FetchDescriptor(entity: "Node", sort: ["m"]), section: path(count))
                    == .limitExceeded)
        }
        let nested = FetchDescriptor(
            entity: "Node",
            predicate: try ObjectPredicate(
                format:
                    "SUBQUERY(nodes, $n, SUBQUERY($n.nodes, $m, $m.\(path(64)) > 0).@count > 0).@count > 0"
            ))
        #expect(refusal(nested) == .limitExceeded)
    }

    @Test(arguments: ["1e-65", "1e-128", "9e-100"])
    func `law 7: a product of decimals that is too small for one has no value`(
        _ factor: String
    ) throws {
        let compiled = try CompiledModel(model)
        let entity = try #require(compiled.entity(named: "Node"))
        var values = [PropertyValue](repeating: .null, count: entity.properties.count)
        values[try #require(entity.slot(of: "m"))] =
            .decimal(try #require(Decimal(string: factor)))
        let row = Row(values, of: entity, version: 1)
        for (format, holds) in [("m * m > 3", false), ("m * m == nil", true), ("m * 2 > m", true)] {
            let request = try CompiledRequest(
                FetchDescriptor(
                    entity: "Node", predicate: try ObjectPredicate(format: format)), in: compiled)
            let object = ObjectReference(tag: entity.tag, number: 1)
            #expect(request.matches(object, row, EmptyReader()) == holds, "\(format)")
        }
    }
}
