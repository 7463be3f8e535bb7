import Tandem
import TandemIO
import TandemJournal
import TandemStore
import TandemWire

/// Vacuums the journal of a directory without a daemon; acquires the store's lock before a removal.
struct FolderVacuum: JournalVacuum {
    private let folder: StoreFolder

    init(_ folder: StoreFolder) { self.folder = folder }

    func source() throws -> any LogSource { FolderSource(folder.path, isQuiet: true) }

    func run(_ request: VacuumRequest) throws -> VacuumAnswer {
        let lock = request.isDryRun ? nil : try folder.lock()
        defer { withExtendedLifetime(lock) {} }
        let store = try folder.openForReading()
        defer { store.close() }
        let consumers = try mapped { try store.consumers() }
        let state = try RetentionState(
            segments: segments(), checkpoint: store.appliedPosition,
            floors: consumers.map(\.acknowledged),
            now: Int64(clamping: SystemClock().wallMicroseconds))
        let plan = try self.plan(request, state)
        if !request.isDryRun, plan.removal.segments > 0 {
            try trim(below: plan.removal.trimBelow, applied: store.appliedPosition)
        }
        return Self.answer(plan, state, consumers)
    }

    /// Returns the segments; throws if the journal is damaged, because opening it would then fail.
    private func segments() throws -> [JournalSegment] {
        if let gap = try mapped({ try JournalFolder(folder.journal).damagedBeginnings() }).first?
            .gap
        {
            throw CommandFailure.damaged(
                gap, "`tandem verify -D \(folder.path)` lists all damage")
        }
        let segments = try mapped { try JournalFolder(folder.journal).sizes() }
        guard !segments.isEmpty else {
            throw CommandFailure.noJournal(in: folder.path)
        }
        return segments
    }

    private func plan(_ request: VacuumRequest, _ state: RetentionState) throws -> VacuumPlan {
        let source = FolderSource(folder.path, isQuiet: true)
        var failure: (any Error)?
        let plan = Vacuum(
            keepBytes: request.keepBytes, keepSeconds: request.keepSeconds,
            before: request.before, isForced: request.isForced
        ).plan(state) { segment in
            do {
                return try source.time(from: segment.last)
            } catch {
                failure = failure ?? error
                return nil
            }
        }
        if let failure { throw failure }
        return plan
    }

    /// Opens the journal and removes segments; throws before any removal if the journal is damaged.
    private func trim(below position: UInt64, applied: UInt64) throws {
        try mapped {
            let journal = try JournalFolder(folder.journal).open(appliedPosition: applied)
            defer { try? journal.close() }
            try journal.trim(below: position)
        }
    }

    private static func answer(
        _ plan: VacuumPlan, _ state: RetentionState, _ consumers: [Consumer]
    ) -> VacuumAnswer {
        let bytes = state.segments.reduce(0) { $0 + $1.bytes }
        return VacuumAnswer(
            first: state.segments.first?.first ?? 1, trimBelow: plan.removal.trimBelow,
            segments: UInt32(clamping: plan.removal.segments), bytes: plan.removal.bytes,
            keptSegments: UInt32(clamping: state.segments.count - plan.removal.segments),
            keptBytes: bytes - plan.removal.bytes, isMore: false,
            holders: zip(consumers, plan.held).compactMap { consumer, held in
                held == 0
                    ? nil
                    : VacuumAnswer.RetentionHolder(
                        kind: .consumer, name: consumer.name, position: consumer.acknowledged,
                        bytes: held)
            })
    }
}
