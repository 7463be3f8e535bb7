import TandemJournal
import TandemModel

/// A reader of transactions in order, from the ring if it has them and otherwise from the journal.
///
/// One journal cursor stays open between calls, for a lagging reader.
final class TransactionSource {
    private let read: (UInt64) throws(JournalError) -> any ChangeCursor
    private var cursor: (any ChangeCursor)?
    private var cursorPosition: UInt64 = 0

    init(_ log: any ChangeLog) {
        read = { position throws(JournalError) in try log.read(from: position) }
    }

    /// Creates a source for random access, which finds positions by the indexes of the segments.
    init(_ journal: Journal, _ indexes: SegmentIndexes) {
        read = { position throws(JournalError) in try journal.read(from: position, indexes) }
    }

    /// Returns the transaction at a position.
    ///
    /// Throws `historyExpired` below the journal's first position, and `storage` if the transaction
    /// can't be read.
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
                throw TandemError(
                    .historyExpired, "transaction \(position) is no longer in the journal")
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
            throw TandemError(.storage, "transaction \(position) cannot be read: \(error)")
        }
    }

    /// Closes the journal cursor.
    func rest() { cursor = nil }
}
