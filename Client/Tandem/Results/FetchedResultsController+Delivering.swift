import TandemIO
import TandemModel
import TandemResults

/// Something that observers of a controller have to be told.
enum ResultsDelivery {
    case change(ControllerChange)
    case failure(TandemError)
}

extension FetchedResultsController {
    /// Tells observers what stepping led to; whatever they cause is told after they return.
    func deliver() {
        guard !isDelivering, !isOpening else { return }
        isDelivering = true
        defer { isDelivering = false }
        recover()
        while !outbox.isEmpty {
            switch outbox.removeFirst() {
            case .change(let change): tell(change)
            case .failure(let error): delegate?.controller(self, didFailWith: error)
            }
        }
    }

    private func tell(_ change: ControllerChange) {
        feeds.send(change)
        guard let delegate else { return }
        delegate.controllerWillChangeContent(self)
        let objects = change.change.objects
        func tell(_ isWanted: (ResultsChange.ObjectChange) -> Bool) {
            for object in objects where isWanted(object) {
                delegate.controller(self, didChangeObject: object, id: change.id(of: object))
            }
        }
        tell { if case .delete = $0 { true } else { false } }
        for section in change.change.sections {
            delegate.controller(self, didChangeSection: section)
        }
        tell { if case .delete = $0 { false } else { true } }
        delegate.controllerDidChangeContent(self)
        delegate.controller(self, didChange: change)
    }

    /// After an interruption the list is fetched anew; observers hear of the difference as of one change.
    private func recover() {
        guard let before = interruption, let old = rows, let model = context.session?.model else {
            return
        }
        do {
            let plan = try makePlan(model)
            var answered: [ObjectNumber: UInt64] = [:]
            let step = try fetchStep(plan)
            let list = try step.run(on: context.connection)
            for row in list { answered[row.number] = context.records[row.number]?.version }
            interruption = nil
            let new = ResultsRows(list, plan)
            let isOtherLog = context.position.map { !$0.isComparable(with: before) } ?? true
            let changed = list.filter { row in
                isOtherLog || (answered[row.number] ?? .max) > before.number
                    || old.row(row.number) != row
            }
            adopt(new, list, plan)
            report(difference(old, new, changed), plan)
        } catch let failure as TandemError
            where failure.code == .disconnected || failure.code == .timeout
        {
            // The next merge tries again: there is one when the connection is back.
            interruption = before
        } catch {
            interruption = nil
            let failure = error as? TandemError ?? TandemError(.storage, "\(error)")
            self.error = failure
            outbox.append(.failure(failure))
        }
    }

    private func difference(
        _ old: ResultsRows, _ new: ResultsRows, _ changed: [ResultRow]
    ) -> ListOutcome {
        if let problem = new.shown.outOfOrder { return .failed(problem) }
        let reasons = Dictionary(
            changed.map { ($0.number, ChangeReason.ownValues) }, uniquingKeysWith: { $1 })
        guard let change = new.shown.change(from: old.shown, changed: reasons), !change.isEmpty
        else {
            return .unchanged
        }
        return .changed(change)
    }
}

/// The streams that a controller feeds; guarded by the lock, since consumers end on any thread.
final class ResultsFeeds: Sendable {
    private let continuations = Locked<[Int: AsyncStream<ControllerChange>.Continuation]>([:])
    private let last = Locked(0)

    func stream() -> AsyncStream<ControllerChange> {
        let id = last.withLock { last -> Int in
            last += 1
            return last
        }
        return AsyncStream { continuation in
            continuations.withLock { $0[id] = continuation }
            continuation.onTermination = { [weak self] _ in
                self?.continuations.withLock { $0[id] = nil }
            }
        }
    }

    func send(_ change: ControllerChange) {
        for continuation in continuations.withLock({ Array($0.values) }) {
            continuation.yield(change)
        }
    }

    func finish() {
        for continuation in continuations.withLock({ Array($0.values) }) { continuation.finish() }
    }
}
