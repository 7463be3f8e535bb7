import TandemJournal
import TandemModel

extension HistoryFilter {
    /// The tag under which the chunk of a model stands.
    private static let modelTag: EntityTag = 0

    /// What the indexes of the journal are asked, of positions behind one: whatever they leave out, ``part(of:)`` does not give.
    ///
    /// A model comes along in any case.
    func question(after position: UInt64) -> IndexQuestion {
        let first = condition.since ?? .min
        let last = condition.until.map { $0 == .min ? $0 : $0 - 1 } ?? .max
        return IndexQuestion(
            keys: keys(after: position), always: [.group(Self.modelTag)],
            stamps: min(first, last)...last)
    }

    /// The narrowest of what is asked for; what else is asked for is judged of each transaction.
    private func keys(after position: UInt64) -> [IndexKey]? {
        if !objects.isEmpty {
            let members = objects.map { IndexKey.member($0.number) }
            // Of very many objects only the entities are looked up.
            if IndexQuestion(keys: members, always: [.group(Self.modelTag)]).isSelective {
                return members
            }
            return Set(objects.map(\.tag)).map { .group($0) }
        }
        if !entities.isEmpty { return entities.map { .group($0) } }
        // Slots of transactions before the model say nothing.
        guard !properties.isEmpty, position >= modelPosition else { return nil }
        return properties.keys.map { .group($0) }
    }
}
