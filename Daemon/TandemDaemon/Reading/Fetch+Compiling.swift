import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// What a fetch of a client is for the store.
extension Fetch {
    /// What the store gives for it.
    func part(of request: CompiledRequest) throws(TandemError) -> FetchPart {
        switch kind {
        case .count: .count
        case .references: .references
        case .rows, .columns: .rows
        case .list: .list(try ListHops(list ?? ListDetails(), of: request))
        }
    }

    /// The request for the objects that the answer is made of, compiled.
    func compiled(in model: CompiledModel) throws(TandemError) -> CompiledRequest {
        if let columns { return try CompiledColumns(columns, of: request, in: model).objects }
        // What places objects or shows others is followed back from what changes while the fetch is carried out.
        return try CompiledRequest(
            request, sectionKeyPath: list?.sectionKeyPath,
            refreshKeyPaths: list?.refreshKeyPaths ?? [], in: model)
    }
}
