import TandemModel
import TestSupport
import Testing

@testable import Tandem

/// Current names of properties after several models.
@Suite(.ownThread) struct PropertyNamesTests {
    /// Returns the names of `Note` in the first of several models, whose attributes are given with
    /// their former names.
    private func names(_ versions: [String: String?]...) throws -> PropertyNames {
        var models: [CompiledModel] = []
        for attributes in versions {
            let model = ManagedObjectModel {
                Entity("Note") {
                    for (name, former) in attributes.sorted(by: { $0.key < $1.key }) {
                        Attribute(name, .string, renamedFrom: former)
                    }
                }
            }
            models.append(try CompiledModel(model, replacing: models.last))
        }
        let first = try #require(models.first)
        return PropertyNames(
            of: try #require(first.entity(named: "Note")), in: first,
            later: Array(models.dropFirst()))
    }

    @Test func `renames are followed through all models`() throws {
        let found = try names(["a": nil, "b": nil], ["b": nil, "c": "a"], ["b": nil, "d": "c"])
        #expect(found.all == ["d", "b"])
        #expect(found.slot(of: "d") == 0 && found.slot(of: "b") == 1 && found.slot(of: "a") == nil)
    }

    @Test func `a removed property does not take part in the renames of its namesake`() throws {
        let found = try names(
            ["a": nil, "b": nil], ["b": nil], ["a": nil, "b": nil], ["b": nil, "c": "a"])
        #expect(found.all == ["a", "b"])
        #expect(found.slot(of: "c") == nil && found.slot(of: "a") == 0)
    }

    @Test func `a name belongs to the property that has it now`() throws {
        let found = try names(["a": nil, "b": nil], ["b": nil], ["a": "b"])
        #expect(found.all == ["a", "a"])
        #expect(found.slot(of: "a") == 1 && found.slot(of: "b") == nil)
    }
}
