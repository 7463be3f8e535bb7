import TandemModel
import TandemStore

extension TransactionWindow {
    /// What happened after a position, up to the committer's; of some entities, if these are named.
    ///
    /// Cost: decodes these transactions.
    init(
        _ committer: Committer, after start: UInt64, _ model: CompiledModel,
        of tags: Set<EntityTag>? = nil
    ) throws {
        self.init()
        let source = TransactionSource(committer.journal)
        for position in (start..<committer.position).lazy.map({ $0 + 1 }) {
            let transaction = try source.transaction(at: position, committer.ring)
            for change in try transaction.changes(of: tags) {
                guard let entity = model.entity(tagged: change.object.tag) else { continue }
                add(change, entity)
            }
        }
    }
}

extension EncodedTransaction {
    /// What happened to objects of some entities; nil for all.
    func changes(of tags: Set<EntityTag>?) throws(CodingError) -> [Change] {
        guard let tags else { return try changes() }
        return try filtered(tags.contains)?.changes() ?? []
    }
}
