import TandemJournal
import TandemModel

extension HistoryMatcher {
    /// The tag of a model's chunk.
    private static let modelTag: EntityTag = 0

    /// Returns the index query for positions after `position`.
    ///
    /// Positions that the indexes rule out never match (``filtered(_:)``). Models are always
    /// included.
    func query(after position: UInt64) -> IndexQuery {
        if condition.isOfModels { return IndexQuery(keys: [.group(Self.modelTag)]) }
        let first = condition.since ?? .min
        let last = condition.until.map { $0 == .min ? $0 : $0 - 1 } ?? .max
        return IndexQuery(
            keys: keys(after: position), always: [.group(Self.modelTag)],
            stamps: min(first, last)...last)
    }

    /// Returns the most selective keys of the condition; the rest is evaluated on each transaction.
    private func keys(after position: UInt64) -> [IndexKey]? {
        if !objects.isEmpty {
            let members = objects.map { IndexKey.member($0.number) }
            // If there are too many objects, only their entities are looked up.
            if IndexQuery(keys: members, always: [.group(Self.modelTag)]).isSelective {
                return members
            }
            return Set(objects.map(\.tag)).map { .group($0) }
        }
        if !entities.isEmpty { return entities.map { .group($0) } }
        // Transactions before the model have the slots of another model.
        guard !properties.isEmpty, position >= modelPosition else { return nil }
        return properties.keys.map { .group($0) }
    }
}
