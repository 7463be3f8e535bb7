import TandemModel
import TandemQuery
import TandemResults
import TandemWire

extension FetchedResultsController: ResultsParticipant {
    var verdictItem: VerdictItem? { plan?.verdictItem }

    // MARK: Asking

    func needs(_ group: MergedGroup) -> Bool {
        guard let plan, interruption == nil else { return false }
        switch plan.mode {
        case .own: return false
        case .verdicts: return group.changes.contains { concerns($0, plan) }
        case .related: return !canDecide(group, plan)
        }
    }

    private func concerns(_ change: Change, _ plan: ResultsPlan) -> Bool {
        if plan.concernsRelated(change) { return true }
        return plan.compiled.includes(tag: change.object.tag) && !plan.leavesPlace(change)
    }

    /// Whether everything that the group leads to is held, so that nobody has to be asked.
    private func canDecide(_ group: MergedGroup, _ plan: ResultsPlan) -> Bool {
        guard let links else { return true }
        let relevant = group.changes.filter { concerns($0, plan) }
        if relevant.isEmpty { return true }
        let reader = GroupReader(context, group.changes)
        for change in relevant where plan.compiled.includes(tag: change.object.tag) {
            guard let row = change.row, !plan.leavesPlace(change) else { continue }
            if plan.compiled.matches(change.object, row, reader) == false { continue }
            if !links.isKnown(row, reader) { return false }
        }
        return links.affected(by: relevant).allSatisfy { number in
            guard let reference = reference(number), case .row(let row) = reader.row(of: reference)
            else { return false }
            return links.isKnown(row, reader)
        }
    }

    private func reference(_ number: ObjectNumber) -> ObjectReference? {
        rows?.row(number).map { ObjectReference(tag: $0.entityTag, number: number) }
    }

    // MARK: Stepping

    func step(_ group: MergedGroup, _ verdicts: [Verdict]?) {
        guard let plan, rows != nil else { return }
        if group.isRestart {
            interruption = interruption ?? context.position?.at(group.from)
            return
        }
        guard interruption == nil, !group.changes.isEmpty || verdicts != nil else { return }
        var judge = RowJudge(plan: plan, reader: GroupReader(context, group.changes))
        judge.note(group)
        if let verdicts { consider(verdicts, &judge) } else { consider(group, &judge, plan) }
        apply(judge.edits, judge.reader, group, plan)
    }

    /// What the daemon says of every candidate.
    private func consider(_ verdicts: [Verdict], _ judge: inout RowJudge) {
        judge.reader.isAuthoritative = true
        judge.reader.answered = Dictionary(
            verdicts.compactMap { verdict in verdict.row.map { (verdict.object.number, $0) } },
            uniquingKeysWith: { $1 })
        for verdict in verdicts where judge.isReadable(verdict) {
            let row = verdict.matches ? verdict.row : nil
            let reason: ChangeReason = verdict.refreshed ? .refreshPath : []
            judge.consider(verdict.object, row, reason, held: rows?.row(verdict.object.number))
        }
    }

    /// What the transactions and the rows that are held say.
    private func consider(_ group: MergedGroup, _ judge: inout RowJudge, _ plan: ResultsPlan) {
        for change in group.changes where plan.compiled.includes(tag: change.object.tag) {
            judge.consider(change, held: rows?.row(change.object.number))
        }
        let affected = links?.affected(by: group.changes.filter(plan.concernsRelated)) ?? []
        for number in affected.sorted() where !judge.hasConsidered(number, plan) {
            guard let reference = reference(number) else { continue }
            judge.considerAffected(reference, held: rows?.row(number))
        }
    }

    private func apply(
        _ edits: ListEdits, _ reader: GroupReader, _ group: MergedGroup, _ plan: ResultsPlan
    ) {
        relink(edits, reader, group.versions)
        guard let outcome = rows?.apply(edits) else { return }
        report(outcome, plan)
    }

    func report(_ outcome: ListOutcome, _ plan: ResultsPlan) {
        switch outcome {
        case .unchanged: if error?.code == .outOfOrderSection { error = nil }
        case .changed(let change):
            error = nil
            guard let position = context.position else { return }
            outbox.append(
                .change(
                    ControllerChange(
                        position: position, change: change, model: plan.compiled.model)))
        case .failed(let problem):
            let isNews = error == nil
            error = TandemError(problem)
            if isNews, let error { outbox.append(.failure(error)) }
        }
    }

    private func relink(
        _ edits: ListEdits, _ reader: GroupReader, _ versions: [ObjectNumber: UInt64]
    ) {
        for number in edits.removed { links?.forget(number, context) }
        for row in edits.upserted {
            let object = ObjectReference(tag: row.entityTag, number: row.number)
            guard case .row(let bytes) = reader.row(of: object) else { continue }
            context.hold(object, bytes, version: versions[row.number])
            links?.note(row.number, bytes, context, reader, versions)
        }
    }

    // MARK: Answers

    /// Keys and sections of the rows of an answer at the context's position.
    func rows(of answer: Fetched, _ plan: ResultsPlan) -> [ResultRow] {
        let judge = RowJudge(plan: plan, reader: answerReader(answer))
        return answer.objects.compactMap { judge.resultRow($0.object, $0.row) }
    }

    private func answerReader(_ answer: Fetched) -> GroupReader {
        var reader = GroupReader(context, [])
        reader.isAuthoritative = true
        for object in answer.related + answer.objects {
            reader.answered[object.object.number] = object.row
        }
        return reader
    }

    /// Takes rows over that were fetched at the context's position, and follows them from now on.
    func adopt(_ new: ResultsRows, _ list: [ResultRow], _ plan: ResultsPlan) {
        var old = links
        var links = ResultsLinks(plan)
        let reader = GroupReader(context, [])
        if !links.isEmpty {
            for row in list {
                let object = ObjectReference(tag: row.entityTag, number: row.number)
                guard case .row(let bytes) = reader.row(of: object) else { continue }
                links.note(row.number, bytes, context, reader, [:])
            }
        }
        old?.forgetAll(context)
        self.links = links.isEmpty ? nil : links
        if self.plan == nil { context.add(self) }
        self.plan = plan
        rows = new
    }
}
