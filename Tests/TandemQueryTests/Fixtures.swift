import FoundationEssentials
import FuzzTargets
import TandemIO
import TandemModel
import TandemQuery
import TestSupport

/// A graph in memory, written as dictionaries of values; the objects in `hidden` are not loaded.
struct Graph: GraphReader {
    var model: CompiledModel
    var values: [ObjectReference: [String: PropertyValue]] = [:]
    var links: [ObjectReference: [String: [ObjectReference]]] = [:]
    var hidden: Set<ObjectReference> = []
    var rows: [ObjectReference: Row] = [:]

    init() throws { model = try CompiledModel(sampleModel) }

    func entity(_ name: String) throws -> CompiledEntity {
        guard let entity = model.entity(named: name) else {
            throw TandemError(.unknownEntity, name)
        }
        return entity
    }

    @discardableResult
    mutating func add(
        _ name: String, _ number: UInt64, _ values: [String: PropertyValue] = [:],
        links: [String: [ObjectReference]] = [:]
    ) throws -> ObjectReference {
        let entity = try entity(name)
        let object = ObjectReference(tag: entity.tag, number: number)
        self.values[object] = values
        self.links[object] = links
        rows[object] = Row(
            entity.properties.map { values[$0.name] ?? .null }, of: entity, version: 1)
        return object
    }

    func row(of object: ObjectReference) -> RowLookup {
        if hidden.contains(object) { return .unknown }
        return rows[object].map { .row($0) } ?? .missing
    }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? {
        hidden.contains(object) ? nil : links[object]?[relationship.declaration.name] ?? []
    }

    func compile(
        _ format: String, _ arguments: [PredicateArgument] = [], entity: String = "Team"
    ) throws -> CompiledRequest {
        let predicate = try ObjectPredicate(format: format, arguments: arguments)
        return try CompiledRequest(FetchDescriptor(entity: entity, predicate: predicate), in: model)
    }

    /// Returns whether an object matches, or nil if that is unknown.
    func matches(
        _ object: ObjectReference, _ format: String, _ arguments: [PredicateArgument] = []
    ) throws -> Bool? {
        let row = rows[object] ?? Row(bytes: [])
        let name = model.entity(tagged: object.tag)?.name ?? ""
        return try compile(format, arguments, entity: name).matches(object, row, self)
    }
}

/// Returns the error that parsing a text throws.
func parseError(_ text: String, _ arguments: [PredicateArgument] = []) -> TandemError? {
    do {
        _ = try ObjectPredicate(format: text, arguments: arguments)
        return nil
    } catch {
        return error
    }
}
