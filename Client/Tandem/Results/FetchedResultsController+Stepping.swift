import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// An answer to a fetch that waits for the merge that brings the context at or beyond its position.
struct Prefetched {
    var plan: ResultsPlan
    var answer: Fetched
    /// Whether the result has no rows behind those of the answer.
    var isComplete: Bool
    /// A list of which all but the rows' values is known, and what became of some of it up to the answer's position; nil if the answer has all rows.
    var known: (list: PlacedList, verdicts: [Verdict])?
}

extension FetchedResultsController: ResultsParticipant {
    var isWaiting: Bool { opening != nil || (interruption != nil && !isRefused) || isShort }

    /// Whether edits took so many rows out of what is known that the window is not full.
    var isShort: Bool {
        guard let held, !held.isComplete, !overlay.isEmpty, opening == nil, interruption == nil
        else { return false }
        return held.rows.count < plan?.needed ?? 0
    }

    var verdictItem: VerdictItem? {
        isRefused && opening == nil ? nil : (opening ?? plan)?.verdictItem
    }

    // MARK: Asking

    func needs(_ group: MergedGroup) -> Bool {
        if let prefetched, prefetched.covers(group) {
            let plan = prefetched.plan
            let tail = group.tail(after: prefetched.answer.position, plan.compiled.model)
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

    /// Whether only a text that is too long for its row can tell if an object matches.
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

    /// Whether everything that the group leads to is held, so that nobody has to be asked.
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
        if let prefetched, prefetched.covers(group) {
            let count = prefetched.answer.objects.count
            let losses = losses(group, verdicts, plan)
            if prefetched.isComplete || count - losses >= needed { return nil }
            return fetch(plan, losses)
        }
        if isWaiting {
            if let prefetched, prefetched.answer.position > group.to { return nil }
            return fetch(plan, overlay.count)
        }
        guard let held, !held.isComplete, interruption == nil else { return nil }
        let losses = losses(group, verdicts, plan)
        return losses == 0 || held.rows.count - losses >= needed ? nil : fetch(plan, losses)
    }

    /// The plan to fetch by, made anew if the model was replaced.
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

    /// Whether nothing is asked but a list that is opened for the first time, so that the rows' values are of no use if these are many.
    private func opensAnew(_ plan: ResultsPlan) -> Bool {
        opening != nil && self.plan == nil && interruption == nil && !plan.isWindow
            && sumProperties.isEmpty && source.pinnedPosition == nil
    }

    /// At most so many rows can go out of what is known, or behind its edge.
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

    func take(_ result: Result<FetchedList, TandemError>, of fetch: Fetch) {
        // Meanwhile another request may have been set and asked for.
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
            prefetched = Prefetched(plan: plan, answer: answer, isComplete: isComplete)
        }
    }

    /// Takes a list without the rows' values; the daemon judges what becomes of it if it reaches more than is held here.
    private func take(_ answer: Fetched, _ places: GatheredPlaces, _ plan: ResultsPlan) {
        let hops = ResultsLinks(plan, pinsRows: false).hops
        // Another answer to the same question opened the list already.
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
        prefetched = Prefetched(
            plan: followed, answer: answer, isComplete: true, known: (.places(places), []))
    }

    private func isValid(_ object: StoredObject, _ plan: ResultsPlan) -> Bool {
        plan.compiled.model.entity(tagged: object.object.tag).map(object.row.isValid) ?? false
    }

    /// Gives up what can't succeed: the fetch under way, or following a list that the model no longer has or the daemon refuses.
    private func refuse(_ error: TandemError) {
        prefetched = nil
        if opening != nil {
            opening = nil
            openingFailure = error
        } else {
            interruption = interruption ?? lastPosition
            isRefused = true
            fail(error)
        }
    }

    func loseThread() {
        prefetched = nil
        if plan != nil, interruption == nil { interruption = lastPosition }
    }

    // MARK: Stepping

    func step(_ group: MergedGroup, _ verdicts: [Verdict]?) {
        defer { if interruption == nil, plan != nil { lastPosition = source.position } }
        if group.isRestart {
            prefetched = nil
            isRefused = false
        }
        let isFollowing = plan != nil && interruption == nil
        if let prefetched, prefetched.covers(group) {
            self.prefetched = nil
            if replace(by: prefetched, group, verdicts) { return }
        } else if isFollowing, opening == nil, !group.isRestart, let plan {
            guard !group.changes.isEmpty || verdicts != nil else {
                applyOverlay()
                return
            }
            apply(decide(group, verdicts, plan), group, verdicts)
            return
        }
        // The group passed by without being taken in; an empty one is no loss.
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

    /// The reference of a row.
    func reference(_ number: ObjectNumber) -> ObjectReference? {
        row(number).map { ObjectReference(tag: $0.entityTag, number: number) }
    }

    /// What is known of a row as the store has it, in the window or not.
    func row(_ number: ObjectNumber) -> ResultRow? {
        if let overlaid = overlay[number] { return overlaid.stored }
        return shownRow(number)
    }

    /// Where a row stands with the context's edits, in the window or not.
    func shownRow(_ number: ObjectNumber) -> ResultRow? {
        if let held { return held.row(number) }
        return list.currentRow(number)
    }
}

extension Prefetched {
    /// Whether merging the group brings the context past the answer's position.
    func covers(_ group: MergedGroup) -> Bool {
        group.from <= answer.position && answer.position <= group.to
    }
}

extension MergedGroup {
    /// The net changes of the transactions after a position.
    func tail(after position: UInt64, _ model: CompiledModel) -> [Change] {
        if position >= to { return [] }
        if position <= from { return changes }
        let rest = transactions.filter { $0.position > position }
        return MergedGroup(from: position, to: to, transactions: rest, model: model).changes
    }
}
