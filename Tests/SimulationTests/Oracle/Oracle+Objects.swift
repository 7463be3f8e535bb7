import TandemDaemon
import TandemModel
import TandemWire

/// Checks of verdicts and of answers at earlier positions against the truth.
extension Oracle {
    // MARK: Reading the past

    /// Checks a fetch at an earlier position.
    func checkPastAnswer(_ answer: FetchAnswer, _ fetch: Fetch) {
        guard isAnswered(at: answer.position, for: fetch.at) else { return }
        fetches(answer, fetch.request, isPast: true)
    }

    /// Checks objects and members at an earlier position.
    func checkPastAnswer(_ answer: ReadAnswer, _ read: Read) {
        guard isAnswered(at: answer.position, for: read.at) else { return }
        for object in answer.objects { checkRead(object, at: answer.position, isPast: true) }
        for list in answer.members {
            checkRead(list, askedUnder: read.modelVersion, at: answer.position)
        }
        for object in answer.missing {
            let image = truth.image(object.number, at: answer.position)
            expect(image == nil, 6, "object \(object.number) at \(read.at) is read as missing")
        }
    }

    private func isAnswered(at position: UInt64, for wanted: UInt64) -> Bool {
        learns(position)
        expect(
            position == wanted && wanted <= truth.last, 6,
            "a request for \(wanted) is answered at \(position)")
        return position <= truth.last
    }

    /// Checks that a request about positions was rejected only because of a limit or of removed
    /// transactions.
    ///
    /// `sentAt` is the time at which the request was sent, in nanoseconds.
    func checkPastRefusal(_ positions: [UInt64], _ error: TandemError, sentAt: UInt64) {
        let isLimited =
            error.message.contains("limits.") || error.message.contains("evaluated together")
        let isGone = positions.contains { position in
            lacksNext(after: position) || position > truth.last || truth.models.isEmpty
                || truth.models.contains { $0.position > position }
        }
        let isAllowed =
            switch error.code {
            case .historyExpired, .unknownEntity: isGone || isLimited
            // Members are requested by slots of the client's model.
            case .schemaMismatch: isGone || truth.models.count > 1
            case .limitExceeded: isLimited
            case .timeout: now - sentAt > UInt64(DaemonLimits().snapshotMilliseconds) * 1_000_000
            default: false
            }
        expect(isAllowed, 7, "a read at \(positions) is refused: \(error)")
    }

    // MARK: Law 4

    /// Checks that all verdicts are correct, and that no changed object is left out.
    func judges(_ answer: Verdicts, _ request: VerdictRequest, _ lists: [SimulatedList]) {
        let (from, to) = (request.from, answer.position)
        guard from <= truth.last, to <= truth.last else {
            return report(1, "verdicts from \(from) are of \(to), which is not durable")
        }
        expect(answer.items.count == lists.count, 4, "some lists have no verdicts")
        let isSame = truth.model(at: from)?.version == truth.model(at: to)?.version
        expect(isSame, 4, "verdicts from \(from) to \(to) cross a change of the model")
        guard violation == nil else { return }
        for (list, verdicts) in zip(lists, answer.items) {
            for verdict in verdicts { check(verdict, list, request, at: to) }
            check(all: verdicts, list, from, to)
        }
        for object in answer.related { checkRead(object, at: to, isPast: request.at != 0) }
    }

    private func check(
        _ verdict: Verdict, _ list: SimulatedList, _ request: VerdictRequest, at to: UInt64
    ) {
        let number = verdict.object.number
        let (old, new) = (
            list.state(of: number, in: truth, at: request.from),
            list.state(of: number, in: truth, at: to)
        )
        let isRefreshed =
            list == .refreshed && old.map { $0.refresh != new?.refresh ?? $0.refresh } ?? false
        expect(
            verdict.matches == new?.matches ?? false && (verdict.row == nil) == (new == nil)
                && verdict.refreshed == isRefreshed, 4,
            "\(list) from \(request.from): \(number) is \(verdict.matches), "
                + "\(verdict.refreshed) at \(to), the fold is \(new?.matches ?? false), \(isRefreshed)"
        )
        guard let row = verdict.row else { return }
        let stored = StoredObject(object: verdict.object, version: verdict.version, row: row)
        checkRead(stored, at: to, isPast: request.at != 0)
    }

    private func check(
        all verdicts: [Verdict], _ list: SimulatedList, _ from: UInt64, _ to: UInt64
    ) {
        let judged = verdicts.map(\.object)
        expect(
            zip(judged, judged.dropFirst()).allSatisfy { $0 < $1 }, 4,
            "the verdicts of \(list) are not in order")
        guard let entity = truth.model(at: to)?.entity(named: list.entity) else { return }
        let numbers = Set(judged.map(\.number))
        for number in truth.numbers where entity.includes(truth.tags[number] ?? 0) {
            let (old, new) = (
                list.state(of: number, in: truth, at: from),
                list.state(of: number, in: truth, at: to)
            )
            // An inserted or deleted object that is in neither list needs no verdict.
            let isMember = old?.matches ?? false || new?.matches ?? false
            guard old != new, isMember || (old != nil && new != nil) else { continue }
            expect(
                numbers.contains(number), 4,
                "the verdicts of \(list) from \(from) to \(to) leave out \(number)")
        }
    }
}
