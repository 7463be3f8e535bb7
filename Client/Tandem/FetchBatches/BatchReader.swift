import TandemModel
import TandemQuery
import TandemWire

/// The state of one loop over fetch batches, including its own pinned context.
///
/// Ids are listed in windows, each a fetch with an offset. The windows fit together because all of
/// them are read at the same position. The reader is bound to the context's actor.
final class BatchReader {
    /// The parameters of the loop.
    struct Plan {
        var request: FetchRequest<ManagedObject>
        /// The number of objects per batch.
        var size: Int
        /// The position to read at; if nil, the pin of the requesting context or, without a pin,
        /// the end.
        var position: Position?
        /// Whether rows are loaded in addition to ids.
        var loadsRows: Bool
        /// The key paths to prefetch with each batch.
        var keyPaths: [String] = []
    }

    private let plan: Plan
    private let requestingContext: ManagedObjectContext
    private let reader: ManagedObjectContext
    /// The pinned position; nil before the first batch.
    private var position: UInt64?
    private var window: [ObjectReference] = []
    /// The number of ids of the window that have been returned.
    private var given = 0
    /// The number of ids listed, and whether the list is complete.
    private var (listed, isListed) = (0, false)
    private var isOver = false

    /// Creates a loop that has not begun.
    init(_ plan: Plan, for requestingContext: ManagedObjectContext) {
        self.plan = plan
        self.requestingContext = requestingContext
        reader = ManagedObjectContext(
            core: requestingContext.core, name: requestingContext.name, mergesAutomatically: false,
            actor: requestingContext.family.link.actor)
    }

    deinit { end() }

    /// Returns the next references, with their rows loaded if requested, or nil at the end.
    func next(isolation: isolated (any Actor)?) async throws -> [ObjectReference]? {
        if isOver { return nil }
        do {
            try Task.checkCancellation()
            let batch = try await reader.cancellable { try await nextBatch($0) }
            if batch.isEmpty { end() }
            return batch.isEmpty ? nil : batch
        } catch {
            end()
            throw error
        }
    }

    /// Returns the object of a reference in a returned batch.
    func object(_ reference: ObjectReference) -> ManagedObject { reader.graph.object(reference) }

    /// Returns the printable id of a reference in a returned batch.
    func id(_ reference: ObjectReference) -> ObjectID { reader.graph.record(reference).id }

    /// Ends the loop and releases the pin and the window; objects in use keep their context.
    private func end() {
        guard !isOver else { return }
        isOver = true
        window = []
        reader.pins.leavePin()
        requestingContext.root.graph.keepForObjects(reader)
    }

    // MARK: Operations

    private func nextBatch(_ calls: DaemonCalls) async throws -> [ObjectReference] {
        guard plan.size > 0 else {
            throw TandemError(.usage, "a batch must have at least one object, not \(plan.size)")
        }
        do {
            try await begin(calls)
            try await renewPin(calls)
            try await listWindow(calls)
            return try await loadBatch(calls)
        } catch let error as TandemError where error.code == .historyExpired {
            guard let position else { throw error }
            throw TandemError(
                .historyExpired,
                "the objects at position \(position) can no longer be read, because a batch took "
                    + "longer than its pin or the journal was trimmed; start the loop again")
        }
    }

    /// Pins the loop's own context, which holds no rows yet.
    private func begin(_ calls: DaemonCalls) async throws {
        guard position == nil else { return }
        let session = try await reader.connectedSession(calls)
        if let wanted = plan.position ?? requestingContext.pinnedPosition {
            _ = try await reader.pins.wait(for: wanted, session, calls)
            reader.family.move(to: wanted.number)
        }
        position = try await reader.pins.pin(nil, calls).number
    }

    private func renewPin(_ calls: DaemonCalls) async throws {
        guard let pin = reader.family.pin, reader.merged == position else {
            throw TandemError(
                .usage,
                "the context of the loop's objects moved to another position, by a save or by unpin(), before "
                    + "the loop's end; change objects in another context")
        }
        try await pin.renew(at: reader.merged, calls)
    }

    /// Lists the next window of ids if the current one was returned completely.
    private func listWindow(_ calls: DaemonCalls) async throws {
        guard given == window.count, !isListed else { return }
        var part = try plan.request.descriptor
        let (offset, isBeyond) = part.offset.addingReportingOverflow(listed)
        let rest = part.limit.map { $0 - listed } ?? .max
        let most = min(rest, max(plan.size, reader.core.limits.listedReferences))
        guard !isBeyond, most != 0 else {
            isListed = true
            return
        }
        (part.offset, part.limit) = (offset, most)
        let answer = try await reader.fetches.fetched(part, kind: .references, calls)
        (window, given) = (answer.references, 0)
        listed += answer.references.count
        isListed = answer.references.count < most
    }

    /// Returns the next batch of the window, and releases unused objects of the previous batch.
    private func loadBatch(_ calls: DaemonCalls) async throws -> [ObjectReference] {
        let batch = Array(window[given..<min(given + plan.size, window.count)])
        reader.graph.sweepNow()
        if plan.loadsRows {
            try await reader.prefetcher.load(batch, prefetching: plan.keyPaths, calls)
            for reference in batch where reader.graph.record(reference).isFault {
                throw TandemError(.storage, "the daemon sent no row of object \(reference.number)")
            }
        }
        given += batch.count
        return batch
    }
}
