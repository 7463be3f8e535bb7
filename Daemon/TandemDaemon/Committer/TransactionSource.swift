import TandemJournal
import TandemModel

/// Reads transactions in order, from the ring where they are held and from the journal where not.
///
/// Keeps one journal cursor open between calls, for a reader that follows from behind.
final class TransactionSource {
    private let read: (UInt64) throws(JournalError) -> any ChangeCursor
    private var cursor: (any ChangeCursor)?
    private var cursorPosition: UInt64 = 0

    init(_ log: any ChangeLog) {
        read = { position throws(JournalError) in try log.read(from: position) }
    }

    /// Finds its places by the indexes of the segments, for who reads here and there.
    init(_ journal: Journal, _ indexes: SegmentIndexes) {
        read = { position throws(JournalError) in try journal.read(from: position, indexes) }
    }

    /// The transaction at a position.
    ///
    /// Throws `historyExpired` below the journal's first position, `storage` where it can't be read.
    func transaction(
        at position: UInt64, _ ring: TransactionRing
    ) throws(TandemError) -> EncodedTransaction {
        if let held = ring[position] { return held }
        do {
            if let cursor, cursorPosition < position {
                cursor.pass(to: position)
            } else if cursor == nil || cursorPosition != position {
                cursor = try read(position)
            }
            cursorPosition = position
            guard let entry = try cursor?.next(), entry.position == position else {
                throw TandemError(.historyExpired, "transaction \(position) is not in the journal")
            }
            cursorPosition = position + 1
            return try EncodedTransaction(bytes: entry.payload)
        } catch let error as TandemError {
            throw error
        } catch let error as JournalError where error.code == .expired {
            cursor = nil
            throw TandemError(.historyExpired, error.description)
        } catch {
            cursor = nil
            throw TandemError(.storage, "transaction \(position) can't be read: \(error)")
        }
    }

    /// Lets go of the open journal cursor.
    func rest() { cursor = nil }
}
