import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// The answer to a fetch, buffered until a merge brings the context to its position or beyond.
struct BufferedAnswer {
    var plan: ResultsPlan
    var answer: FetchAnswer
    /// Whether the result has no rows after those of the answer.
    var isComplete: Bool
    /// A list without row values, and the verdicts on some of its rows up to the answer's position;
    /// nil if the answer has all rows.
    var known: (list: PlacementList, verdicts: [Verdict])?
}

extension FetchedResultsController: ListParticipant {
    var isWaiting: Bool { opening != nil || (interruption != nil && !isRefused) || needsRefill }

    /// Whether edits removed rows, and the remaining known rows do not fill the window.
    var needsRefill: Bool {
        guard let windowRows, !windowRows.isComplete, !overlay.isEmpty, opening == nil,
            interruption == nil
        else { return false }
        return windowRows.rows.count < plan?.needed ?? 0
    }

    var verdictItem: VerdictItem? {
        isRefused && opening == nil ? nil : (opening ?? plan)?.verdictItem
    }

    // MARK: Verdicts

    func needs(_ group: MergedGroup) -> Bool {
        if let bufferedAnswer, bufferedAnswer.covers(group) {
            let plan = bufferedAnswer.plan
            let tail = group.tail(after: bufferedAnswer.answer.position, plan.compiled.model)
            return plan.mode != .own && tail.contains { concerns($0, plan) }
                || dependsOnTexts(tail, plan)
        }
        guard let plan, interruption == nil else { return false }
        switch plan.mode {
        case .own: return dependsOnTexts(group.changes, plan)
        case .verdicts: return group.changes.contains { concerns($0, plan) }
        case .related: return !canDecide(group, plan) || dependsOnTexts(group.changes, plan)
        }
    }

    /// Whether the predicate depends on a text that is too long for the row of a changed object.
    private func dependsOnTexts(_ changes: [Change], _ plan: ResultsPlan) -> Bool {
        guard plan.compiled.predicateReadsTexts else { return false }
        let reader = GroupReader(source, .empty)
        return changes.contains { change in
            guard plan.compiled.includes(tag: change.object.tag), !plan.leavesPlace(change),
                let row = change.row,
                let entity = plan.compiled.model.entity(tagged: change.object.tag),
                row.hasBlobs(in: entity)
            else { return false }
            return plan.compiled.matches(change.object, row, reader) == nil
        }
    }

    private func concerns(_ change: Change, _ plan: ResultsPlan) -> Bool {
        if plan.concernsRelated(change) { return true }
        return plan.compiled.includes(tag: change.object.tag) && !plan.leavesPlace(change)
    }

    /// Whether all objects that the group's rows refer to are held, so that the daemon need not be
    /// asked.
    private func canDecide(_ group: MergedGroup, _ plan: ResultsPlan) -> Bool {
        guard let links else { return true }
        let reader = GroupReader(source, group.table)
        let table = group.table
        for part in table.parts where plan.compiled.includes(tag: table.tag(of: part)) {
            for at in part where table.all[at].kind.writesRow {
                let (kind, changed) = (table.all[at].kind, table.all[at].changed)
                if plan.leavesPlace(kind, changed) { continue }
                guard let row = table.all[at].row else { continue }
                if plan.compiled.matches(table.all[at].object, row, reader) == false { continue }
                if !links.isKnown(row, reader) { return false }
            }
        }
        let related = plan.concerningRelated(table)
        return related.isEmpty
            || links.affected(by: related).allSatisfy { number in
                guard let reference = reference(number),
                    case .row(let row) = reader.row(of: reference)
                else { return false }
                return links.isKnown(row, reader)
            }
    }

    // MARK: Refilling

    func refill(for group: MergedGroup, _ verdicts: [Verdict]?) -> Fetch? {
        guard let plan = currentPlan() else { return nil }
        let needed = plan.needed ?? 0
        if let bufferedAnswer, bufferedAnswer.covers(group) {
            let count = bufferedAnswer.answer.objects.count
            let losses = losses(group, verdicts, plan)
            if bufferedAnswer.isComplete || count - losses >= needed { return nil }
            return fetch(plan, losses)
        }
        if isWaiting {
            if let bufferedAnswer, bufferedAnswer.answer.position > group.to { return nil }
            return fetch(plan, overlay.count)
        }
        guard let windowRows, !windowRows.isComplete, interruption == nil else { return nil }
        let losses = losses(group, verdicts, plan)
        return losses == 0 || windowRows.rows.count - losses >= needed ? nil : fetch(plan, losses)
    }

    /// Returns the plan to fetch with, recompiled if the model was replaced; nil if there is none,
    /// or it does not fit the model.
    private func currentPlan() -> ResultsPlan? {
        guard let plan = opening ?? plan, let model = source.session?.model else { return nil }
        if plan.compiled.model === model { return plan }
        do throws(TandemError) {
            let renewed = try ResultsPlan(
                plan.request, sectionKeyPath: plan.sectionKeyPath,
                refreshKeyPaths: plan.refreshKeyPaths, in: model)
            if opening != nil { opening = renewed } else { self.plan = renewed }
            return renewed
        } catch {
            refuse(error)
            return nil
        }
    }

    private func fetch(_ plan: ResultsPlan, _ losses: Int) -> Fetch {
        fetches += 1
        let fetch = plan.fetch(slack: max(1, slack) + 2 * losses)
        return opensAnew(plan)
            ? plan.opening(fetch, rowsUpTo: source.core.limits.cachedRows / 2) : fetch
    }

    /// Whether the fetch only opens a list for the first time, so that the values of many rows
    /// would not be used.
    private func opensAnew(_ plan: ResultsPlan) -> Bool {
        opening != nil && self.plan == nil && interruption == nil && !plan.isWindow
            && sumProperties.isEmpty && source.pinnedPosition == nil
    }

    /// Returns an upper bound on the known rows that are removed or move beyond the edge.
    private func losses(
        _ group: MergedGroup, _ verdicts: [Verdict]?, _ plan: ResultsPlan
    ) -> Int {
        if let verdicts { return verdicts.count }
        if plan.mode == .verdicts { return 0 }
        let all = group.isBackward ? group.changes : group.transactions.flatMap(\.changes)
        let own = all.lazy.filter {
            plan.compiled.includes(tag: $0.object.tag) && $0.kind != .insert
                && !plan.leavesPlace($0)
        }
        return own.count + (links?.affected(by: group.changes).count ?? 0)
    }

    func receive(_ result: Result<ListAnswer, TandemError>, for fetch: Fetch) {
        // Another request may have been set and sent in the meantime.
        guard let plan = currentPlan(), plan.isAsked(by: fetch) else { return }
        switch result {
        case .failure(let error): refuse(error)
        case .success(let fetched):
            let answer = fetched.answer
            for object in Array(answer.objects) + answer.related where !isValid(object, plan) {
                refuse(
                    TandemError(
                        .storage,
                        "the row of object \(object.object.number) can't be read; run `tandem check`"
                    ))
                return
            }
            if let places = fetched.places { return take(answer, places, plan) }
            let isComplete = fetch.request.limit.map { answer.objects.count < $0 } ?? true
            bufferedAnswer = BufferedAnswer(plan: plan, answer: answer, isComplete: isComplete)
        }
    }

    /// Accepts a list without row values; if its links are missing, the daemon evaluates later
    /// changes.
    private func take(_ answer: FetchAnswer, _ places: ReceivedPlacements, _ plan: ResultsPlan) {
        let hops = ResultsLinks(plan, pinsRows: false).hops
        // Another answer to the same request has opened the list already.
        guard opening != nil else { return }
        guard [0, hops].contains(places.hops),
            places.parts.lazy.flatMap(\.tagRuns).allSatisfy({
                plan.compiled.includes(tag: EntityTag($0.value))
            }),
            places.reached.allSatisfy({ plan.compiled.model.entity(tagged: $0.tag) != nil })
        else {
            return refuse(TandemError(.storage, "the places of the list's objects can't be read"))
        }
        let followed = places.hops == hops ? plan : plan.judgedByDaemon
        opening = followed
        bufferedAnswer = BufferedAnswer(
            plan: followed, answer: answer, isComplete: true, known: (.places(places), []))
    }

    private func isValid(_ object: StoredObject, _ plan: ResultsPlan) -> Bool {
        plan.compiled.model.entity(tagged: object.object.tag).map(object.row.isValid) ?? false
    }

    /// Ends the pending fetch with an error; without one, stops following the list, which the model
    /// no longer has or the daemon refuses.
    private func refuse(_ error: TandemError) {
        bufferedAnswer = nil
        if opening != nil {
            opening = nil
            openingFailure = error
        } else {
            interruption = interruption ?? lastPosition
            isRefused = true
            fail(error)
        }
    }

    func resetAfterGap() {
        bufferedAnswer = nil
        if plan != nil, interruption == nil { interruption = lastPosition }
    }

    // MARK: Stepping

    func step(_ group: MergedGroup, _ verdicts: [Verdict]?) {
        defer { if interruption == nil, plan != nil { lastPosition = source.position } }
        if group.isRestart {
            bufferedAnswer = nil
            isRefused = false
        }
        let isFollowing = plan != nil && interruption == nil
        if let bufferedAnswer, bufferedAnswer.covers(group) {
            self.bufferedAnswer = nil
            if replace(by: bufferedAnswer, group, verdicts) { return }
        } else if isFollowing, opening == nil, !group.isRestart, let plan {
            guard !group.changes.isEmpty || verdicts != nil else {
                applyOverlay()
                return
            }
            apply(decide(group, verdicts, plan), group, verdicts)
            return
        }
        // The group was not applied, which matters unless it is empty.
        if isFollowing, group.isRestart || group.isBackward || group.to > group.from {
            interruption = lastPosition
        }
    }

    func objects(around object: ObjectReference, _ count: Int) -> [ObjectReference] {
        let shown = visible
        guard let offset = shown.offset(of: object.number) else { return [] }
        let start = max(0, offset - count / 4)
        return shown.references(in: start..<start + count)
    }

    /// Returns the reference of a row, or nil if the row is not known.
    func reference(_ number: ObjectNumber) -> ObjectReference? {
        row(number).map { ObjectReference(tag: $0.entityTag, number: number) }
    }

    /// Returns the row as stored, in the window or not; nil if it is not known or does not match.
    func row(_ number: ObjectNumber) -> ResultRow? {
        if let overlaid = overlay[number] { return overlaid.stored }
        return shownRow(number)
    }

    /// Returns the row as shown, with the context's edits, in the window or not.
    func shownRow(_ number: ObjectNumber) -> ResultRow? {
        if let windowRows { return windowRows.row(number) }
        return list.currentRow(number)
    }
}

extension BufferedAnswer {
    /// Whether merging the group brings the context to the answer's position or beyond.
    func covers(_ group: MergedGroup) -> Bool {
        group.from <= answer.position && answer.position <= group.to
    }
}

extension MergedGroup {
    /// Returns the net changes of the transactions after a position.
    func tail(after position: UInt64, _ model: CompiledModel) -> [Change] {
        if position >= to { return [] }
        if position <= from { return changes }
        let rest = transactions.filter { $0.position > position }
        return MergedGroup(from: position, to: to, transactions: rest, model: model).changes
    }
}
