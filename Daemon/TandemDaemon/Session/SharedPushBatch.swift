import TandemIO
import TandemWire

/// A shared push batch: pushes up to the tail, encoded once for all sessions at the same cursor.
///
/// If a transaction is pushed to many sessions, the first of them encodes the batch, and each of
/// the others costs one write of the same bytes.
struct SharedPushBatch {
    /// The state that two sessions must share to get the same bytes.
    struct SharingKey: Hashable {
        /// The id of the subscriber group.
        let group: UInt64
        /// The position up to which every transaction has been considered.
        let lagPosition: UInt64
        /// The last position announced to the client.
        let cursor: UInt64
    }

    /// The state that a session must have to be sent the batch.
    let sharingKey: SharingKey
    /// The position up to which the batch considers every transaction.
    let end: UInt64
    /// The last position that the batch announces.
    private(set) var cursor: UInt64
    /// The number of pushes.
    private(set) var pushes: UInt64 = 0
    /// The encoded frames of all pushes.
    private(set) var bytes: [UInt8] = []
    /// Whether the batch contains all pushes up to `end`.
    ///
    /// If not, pushes are queued for each session separately, by reference and in turns.
    let isComplete: Bool

    /// Encodes the pushes that follow `sharingKey`; `body` returns nil for an irrelevant position.
    init(
        from sharingKey: SharingKey, to end: UInt64, atMost limit: Int,
        _ body: (UInt64) throws -> PushBody?
    ) rethrows {
        (self.sharingKey, self.end, cursor) = (sharingKey, end, sharingKey.cursor)
        for position in (sharingKey.lagPosition + 1)..<(end + 1) {
            guard let body = try body(position), position > cursor else { continue }
            guard bytes.count + PushBody.headBytes + body.bytes.count <= limit else {
                isComplete = false
                bytes = []
                return
            }
            body.appendHead(previous: cursor, to: &bytes)
            bytes += body.bytes
            cursor = position
            pushes += 1
        }
        isComplete = true
        assert(cursor <= end, "A batch announces no position after its end.")
    }
}

extension Session {
    /// Whether the session has no requests and no output, and waits only for pushes.
    var isAtRest: Bool {
        isReady && !isClosing && !isWaitingToWrite && !subscription.needsProgressMark
            && outboundBytes == 0 && output.held.isEmpty && input.queue.waiting.isEmpty
            && syncs.isEmpty && read == nil
    }

    /// The state shared with sessions that get the same bytes; nil if the session is current.
    var sharingKey: SharedPushBatch.SharingKey? {
        lagPosition.map {
            SharedPushBatch.SharingKey(
                group: subscription.groupID, lagPosition: $0, cursor: machine.cursor)
        }
    }
}
