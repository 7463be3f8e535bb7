import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// Translation of a client's fetch into a request to the store.
extension Fetch {
    /// Returns the kind of result to request from the store.
    func resultKind(of request: CompiledRequest) throws(TandemError) -> FetchResultKind {
        switch kind {
        case .count: .count
        case .references: .references
        case .rows, .columns: .rows
        case .list: .list(try ListHops(list ?? ListDetails(), of: request))
        }
    }

    /// Returns the compiled request for the objects from which the answer is built.
    func compiled(in model: CompiledModel) throws(TandemError) -> CompiledRequest {
        if let columns { return try CompiledColumns(columns, of: request, in: model).objects }
        // The paths of sections and refreshing are included, because a read of an earlier position
        // undoes only the changes of the entities that the request's paths reach.
        return try CompiledRequest(
            request, sectionKeyPath: list?.sectionKeyPath,
            refreshKeyPaths: list?.refreshKeyPaths ?? [], in: model)
    }
}
