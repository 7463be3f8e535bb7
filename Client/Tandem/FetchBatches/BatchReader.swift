import TandemModel
import TandemQuery
import TandemWire

/// One loop over the batches of a request: what it has listed and given, and the pinned context that it reads in.
///
/// Ids are listed in windows, each a fetch with an offset: at one position these fit together. Bound to the context's actor.
final class BatchReader {
    /// What is read, and how.
    struct Plan {
        var request: FetchRequest
        /// How many objects a batch has.
        var size: Int
        /// Where; nil for where the context that was asked is pinned, or the end.
        var position: Position?
        /// Whether rows are loaded, and not ids alone.
        var loadsRows: Bool
        /// What is loaded with each batch.
        var keyPaths: [String] = []
    }

    private let plan: Plan
    private let asked: ManagedObjectContext
    private let reader: ManagedObjectContext
    /// Where it reads; nil before the first batch.
    private var position: UInt64?
    private var window: [ObjectReference] = []
    /// How many of the window were given.
    private var given = 0
    /// How many ids were listed, and whether these were all.
    private var (listed, isListed) = (0, false)
    private var isOver = false

    /// A loop that has not begun.
    init(_ plan: Plan, of asked: ManagedObjectContext) {
        self.plan = plan
        self.asked = asked
        reader = ManagedObjectContext(
            core: asked.core, name: asked.name, mergesAutomatically: false,
            actor: asked.root.link.actor)
    }

    deinit { end() }

    /// The next references, with their rows loaded if these are wanted; nil when there are no more.
    func next(isolation: isolated (any Actor)?) async throws -> [ObjectReference]? {
        if isOver { return nil }
        do {
            try Task.checkCancellation()
            let batch = try await nextStep().runUnlessCancelled(on: reader.connection)
            if batch.isEmpty { end() }
            return batch.isEmpty ? nil : batch
        } catch {
            end()
            throw error
        }
    }

    /// The object of a reference that was given.
    func object(_ reference: ObjectReference) -> ManagedObject { reader.object(reference) }

    /// The printable id of a reference that was given.
    func id(_ reference: ObjectReference) -> ObjectID { reader.record(reference).id }

    /// Lets go of everything but what others keep.
    private func end() {
        guard !isOver else { return }
        isOver = true
        window = []
        reader.leavePin()
        asked.root.keepForObjects(reader)
    }

    // MARK: Steps

    private func nextStep() throws -> Step<[ObjectReference]> {
        guard plan.size > 0 else {
            throw TandemError(.usage, "a batch has \(plan.size) objects; it needs one at least")
        }
        return try beginStep().then { try self.renewStep() }.then { try self.listStep() }
            .then { try self.loadStep() }
            .recover { error in
                guard error.code == .historyExpired, let position = self.position else {
                    throw error
                }
                throw TandemError(
                    .historyExpired,
                    "what there was at position \(position) can't be told any more, a batch took "
                        + "too long for its pin or the journal was trimmed; begin the loop anew")
            }
    }

    /// Pins the loop's own context, which holds nothing yet.
    private func beginStep() throws -> Step<Void> {
        guard position == nil else { return .done(()) }
        return try reader.sessionStep().then { session in
            if let wanted = self.plan.position ?? self.asked.pinnedPosition {
                return try self.reader.waitStep(for: wanted, session).then { _ in
                    self.reader.merged = wanted.number
                    return .done(())
                }
            }
            return .done(())
        }.then { try self.reader.pinStep(nil) }.then {
            self.position = $0.number
            return .done(())
        }
    }

    private func renewStep() throws -> Step<Void> {
        guard let pin = reader.standing.pin, reader.merged == position else {
            throw TandemError(
                .usage,
                "the context of the objects of a loop was moved, by a save or by unpin(), before "
                    + "the loop's end; change objects in a context of your own")
        }
        return try pin.renewStep(at: reader.merged)
    }

    private func listStep() throws -> Step<Void> {
        guard given == window.count, !isListed else { return .done(()) }
        var part = plan.request
        let (offset, isBeyond) = part.offset.addingReportingOverflow(listed)
        let rest = part.limit.map { $0 - listed } ?? .max
        let most = min(rest, max(plan.size, reader.core.limits.listedReferences))
        guard !isBeyond, most != 0 else {
            isListed = true
            return .done(())
        }
        (part.offset, part.limit) = (offset, most)
        return try reader.fetchedStep(part, kind: .references).then { answer in
            (self.window, self.given) = (answer.references, 0)
            self.listed += answer.references.count
            self.isListed = answer.references.count < most
            return .done(())
        }
    }

    /// Gives the next part of the window; what nobody keeps of the last one is forgotten.
    private func loadStep() throws -> Step<[ObjectReference]> {
        let batch = Array(window[given..<min(given + plan.size, window.count)])
        reader.sweepAt = 0
        reader.sweep()
        guard plan.loadsRows else { return taken(batch) }
        return try reader.loadStep(batch, prefetching: plan.keyPaths).then { _ in
            for reference in batch where self.reader.record(reference).isFault {
                throw TandemError(.storage, "the daemon gave no row of object \(reference.number)")
            }
            return self.taken(batch)
        }
    }

    private func taken(_ batch: [ObjectReference]) -> Step<[ObjectReference]> {
        given += batch.count
        return .done(batch)
    }
}

extension ManagedObjectContext {
    /// Lets go of the pin at once and goes nowhere: what is read next finds the context behind a gap, and begins anew at the end.
    ///
    /// The stream lacks what is followed only since it was read at the pin.
    fileprivate func leavePin() {
        guard standing.pin != nil else { return }
        standing.pin = nil
        standing.session?.generation = -1
    }

    /// Keeps a context as long as somebody keeps objects of it, or this one goes: without theirs, objects have no values.
    fileprivate func keepForObjects(_ other: ManagedObjectContext) {
        keptForObjects.append(other)
        dropUnused()
    }

    /// Lets go of contexts that are kept for their objects, and have none any more.
    func dropUnused() {
        guard !keptForObjects.isEmpty else { return }
        keptForObjects.removeAll { other in !other.records.contains { $0.object != nil } }
    }
}
