import Tandem

/// The earlier reverts of a transaction, and later changes to its links, as read from the log.
///
/// The save id of a revert contains the position of the reverted transaction. The id thus shows
/// which transactions were reverted, and makes the daemon carry out only one of two simultaneous
/// reverts by the same user.
struct RevertLog {
    /// The position of the transaction.
    let position: UInt64
    /// The position of the revert that is in effect; nil if there is none, or if the revert was
    /// itself reverted.
    private(set) var revert: UInt64?
    /// The save id of the next revert of the transaction.
    ///
    /// The id also contains the position of the previous revert, if any. The previous revert was
    /// itself reverted, and the daemon must not treat the new revert as a retry of it.
    let saveID: [UInt8]
    /// The links of the transaction that later transactions changed.
    let laterLinks: Set<ChangedLink>
    private let links: Set<ChangedLink>
    /// The last position that was read.
    private let end: UInt64

    /// The content hash that all reverts of the transaction share.
    ///
    /// It does not depend on the edits, so that the daemon treats the second of two reverts as a
    /// retry of the first.
    var contentHash: StableHash { StableHash(first: position, second: 0) }

    private static let author = "tandem revert"

    /// Reads the log after a transaction.
    init(_ entry: LogEntry, _ source: any LogSource) throws {
        position = entry.transaction.position
        end = try source.bounds().last
        let reverts = try Self.reverts(after: position, through: end, source)
        // Newest first, because a revert of a revert is later than the revert.
        var reverted: [UInt64: UInt64] = [:]
        for revert in reverts.reversed() where reverted[revert.position] == nil {
            reverted[revert.target] = revert.position
        }
        revert = reverted[position]
        let previous = reverts.last { [position] in $0.target == position }
        saveID = Array(
            ("\(Self.author) \(position)" + (previous.map { "/\($0.position)" } ?? "")).utf8)
        links = ChangedLink.all(in: entry)
        laterLinks = try Self.changed(links, after: position, through: end, source)
    }

    /// Returns a description of the first conflict between the revert and saves that other
    /// processes made after the log was read, or nil if there is none.
    ///
    /// The daemon does not detect two kinds of conflicts: simultaneous reverts by two users,
    /// because save ids are kept for each user, and two changes to one link.
    func conflict(before saved: UInt64, _ source: any LogSource) throws -> String? {
        guard saved > end + 1 else { return nil }
        let reverts = try Self.reverts(after: end, through: saved - 1, source)
        if let other = reverts.first(where: { [position] in $0.target == position }) {
            return Self.alreadyReverted(position, by: other.position)
        }
        return try Self.changed(links, after: end, through: saved - 1, source).isEmpty
            ? nil : "a link was changed later"
    }

    /// Returns the description of a conflict with an earlier revert.
    static func alreadyReverted(_ position: UInt64, by revert: UInt64) -> String {
        "transaction \(position) was already reverted by transaction \(revert)"
    }

    /// Returns the reverts after a position, each with the position of the reverted transaction.
    private static func reverts(
        after position: UInt64, through end: UInt64, _ source: any LogSource
    ) throws -> [(position: UInt64, target: UInt64)] {
        var found: [(position: UInt64, target: UInt64)] = []
        let reader = LogReader(source: source, filter: LogFilter(authors: [author]))
        try reader.forwards(after: position, through: end) { entry in
            if let target = target(of: entry.transaction.saveID) {
                found.append((entry.transaction.position, target))
            }
            return true
        }
        return found
    }

    /// Returns the position of the transaction that a save with this id reverts, or nil if that
    /// save is not a revert.
    private static func target(of saveID: [UInt8]) -> UInt64? {
        let text = String(decoding: saveID, as: UTF8.self)
        guard text.hasPrefix(author + " ") else { return nil }
        return UInt64(text.dropFirst(author.count + 1).prefix { $0 != "/" })
    }

    /// Returns the given links that transactions after a position changed.
    private static func changed(
        _ links: Set<ChangedLink>, after floor: UInt64, through end: UInt64,
        _ source: any LogSource
    ) throws -> Set<ChangedLink> {
        guard !links.isEmpty else { return [] }
        var found: Set<ChangedLink> = []
        try LogReader(source: source, filter: LogFilter()).forwards(
            after: floor, through: end
        ) { later in
            found.formUnion(ChangedLink.all(in: later).intersection(links))
            return true
        }
        return found
    }
}

/// A link that a transaction added or removed.
struct ChangedLink: Hashable {
    private let owner: ObjectNumber
    /// The relationship's id; unlike a slot, it is the same in every version of the model.
    private let relationship: UInt16
    private let member: ObjectNumber

    init?(_ owner: ObjectReference, _ link: LinkChange, in entity: CompiledEntity) {
        guard let id = entity.properties[link.slot].relationship?.linkID else { return nil }
        (self.owner, relationship, member) = (owner.number, id, link.target.number)
    }

    /// Returns the links that a transaction added or removed.
    static func all(in entry: LogEntry) -> Set<ChangedLink> {
        Set(
            entry.transaction.changes.flatMap { change in
                guard !change.links.isEmpty, let entity = entry.entity(of: change) else {
                    return [ChangedLink]()
                }
                return change.links.compactMap { ChangedLink(change.object, $0, in: entity) }
            })
    }
}
