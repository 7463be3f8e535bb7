import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// Keeps a list up to date with its context.
///
/// The follower decides which data a merge needs from the daemon, and whether the merge updates the
/// list or the list is fetched again. The ``FollowedList`` manages rows and unsaved edits.
final class ListFollower: ListParticipant {
    /// The context whose merges update the list: the root of the controller's context.
    let source: ManagedObjectContext
    let list: FollowedList
    private var phase = ResultsPhase.idle
    private var opening = ListOpening.none
    /// The answer, buffered until a merge reaches its position.
    private var answer: BufferedAnswer?
    /// The number of fetches.
    private(set) var fetches = 0

    init(_ context: ManagedObjectContext, isSectioned: Bool) {
        source = context.root
        list = FollowedList(context, isSectioned: isSectioned)
    }

    /// The plan of the list; nil before the first fetch.
    var plan: ResultsPlan? { phase.plan }

    // MARK: Opening

    /// Fetches a plan's list, or opens it from its cache, and updates it with later merges.
    func open(
        _ plan: ResultsPlan, _ sums: ResultsSums, in session: ServerState, _ calls: DaemonCalls
    ) async throws {
        var cached: SectionCache?
        // A pinned context does not move, so a cached list could not be updated.
        if phase.plan == nil, !plan.isWindow, sums.isEmpty, source.pinnedPosition == nil {
            cached = list.cache.load(plan, in: session, source)
        }
        source.participants.add(list: self)
        opening = .pending(cached.map { planForCache($0, plan) } ?? plan, sums)
        answer = nil
        if let cached {
            try await catchUp(cached, calls)
            // A cache that could not be used is ignored from now on.
            if opening.plan != nil, answer == nil { opening = .pending(plan, sums) }
        }
        try await mergeUntilOpen(calls)
        keepInCache(isFinal: true)
    }

    /// Ends a pending fetch; the current list stays.
    func endOpening() { opening.end() }

    /// Merges until the fetched list is applied or refused; other callers may merge in between.
    private func mergeUntilOpen(_ calls: DaemonCalls) async throws {
        for _ in 0..<source.core.limits.readAttempts {
            try await source.merger.merge(through: source.merged, calls)
            switch opening {
            case .none: return
            case .pending: continue
            case .failed(let error):
                // The old list may have missed changes meanwhile; this merge fetches it again.
                try await source.merger.merge(through: source.merged, calls)
                throw error
            }
        }
        throw TandemError(.timeout, "the list could not be fetched; try again")
    }

    /// Returns the plan for a list that is opened from its cache: `plan`, or, if the rows refer to
    /// too many objects or the cache has no links, a plan that uses the daemon's verdicts.
    private func planForCache(_ found: SectionCache, _ plan: ResultsPlan) -> ResultsPlan {
        let isTooMuch = found.links.objects.count > source.core.limits.keptRows
        return isTooMuch || found.links.hopCount == 0 ? plan.evaluatedByDaemon : plan
    }

    /// Brings a cached list up to date, and merges up to the same position; does nothing if history
    /// does not reach back that far.
    private func catchUp(_ found: SectionCache, _ calls: DaemonCalls) async throws {
        guard let plan = opening.plan else { return }
        // The related objects are read at the position of the verdicts.
        let read = Read(
            objects: plan.mode == .related ? found.links.objects : [],
            interests: plan.interests)
        let request = VerdictRequest(
            from: found.position.number, items: [plan.rowQuery], alongside: .read(read))
        let result = try await source.loggedAnswer(to: .verdicts(request), calls)
        if case .failure(let error) = result,
            error.code == .disconnected || error.code == .timeout
        {
            throw error
        }
        guard case .success(.verdicts(let verdicts)) = result, verdicts.items.count == 1,
            case .objects(let related)? = verdicts.alongside, opening.plan === plan,
            source.pinnedPosition == nil,
            let answer = BufferedAnswer(cached: found, verdicts, related, plan)
        else { return }
        self.answer = answer
        try await source.merger.merge(through: verdicts.position, calls)
    }

    /// Writes the list to its cache, if enough rows have changed since it was last written.
    func keepInCache(isFinal: Bool = false) {
        if let plan = phase.followed { list.keepInCache(plan, isFinal: isFinal) }
    }

    // MARK: Verdicts

    var isWaiting: Bool {
        if opening.plan != nil { return true }
        if case .interrupted = phase { return true }
        return needsRefill
    }

    var needsRefill: Bool {
        guard opening.plan == nil, let plan = phase.followed else { return false }
        return list.needsRefill(plan)
    }

    var verdictItem: VerdictItem? {
        if let plan = opening.plan { return plan.verdictItem }
        return phase.isRefused ? nil : phase.plan?.verdictItem
    }

    func needs(_ group: MergedGroup) -> Bool {
        let reader = GroupReader(source, .empty)
        if let answer, answer.covers(group) {
            let (plan, tail) = (answer.plan, answer.tail(of: group))
            return plan.mode != .own && tail.contains(where: plan.concerns)
                || plan.dependsOnTexts(tail, reader)
        }
        guard let plan = phase.followed else { return false }
        switch plan.mode {
        case .own: return plan.dependsOnTexts(group.changes, reader)
        case .verdicts: return group.changes.contains(where: plan.concerns)
        case .related:
            return !list.canDecide(group, plan) || plan.dependsOnTexts(group.changes, reader)
        }
    }

    // MARK: Fetching

    func refill(for group: MergedGroup, _ verdicts: [Verdict]?) -> Fetch? {
        guard let plan = currentPlan() else { return nil }
        let neededRows = plan.neededRows ?? 0
        if let answer, answer.covers(group) {
            let losses = list.losses(group, verdicts, plan)
            if answer.isComplete || answer.answer.objects.count - losses >= neededRows {
                return nil
            }
            return fetch(plan, losses)
        }
        if isWaiting {
            if let answer, answer.answer.position > group.to { return nil }
            return fetch(plan, list.overlay.entries.count)
        }
        guard let window = list.window, !window.isComplete, phase.followed != nil else {
            return nil
        }
        let losses = list.losses(group, verdicts, plan)
        return losses == 0 || window.rows.count - losses >= neededRows ? nil : fetch(plan, losses)
    }

    /// Returns the plan of the next fetch, recompiled if the model was replaced; nil if there is no
    /// plan or it does not fit the model.
    private func currentPlan() -> ResultsPlan? {
        guard let plan = opening.plan ?? phase.plan, let model = source.session?.model else {
            return nil
        }
        if plan.compiled.model === model { return plan }
        do throws(TandemError) {
            let renewed = try plan.renewed(in: model)
            if opening.plan != nil { opening.renew(renewed) } else { phase.renew(renewed) }
            return renewed
        } catch {
            refuse(error)
            return nil
        }
    }

    private func fetch(_ plan: ResultsPlan, _ losses: Int) -> Fetch {
        fetches += 1
        let limits = source.core.limits
        let fetch = plan.fetch(slack: max(1, limits.windowSlack) + 2 * losses)
        // Most values of a long list are never read, so the first fetch of a long list omits them.
        guard case .idle = phase, opening.sums?.isEmpty == true, !plan.isWindow,
            source.pinnedPosition == nil
        else { return fetch }
        return plan.openingFetch(fetch, rowsUpTo: limits.keptRows)
    }

    func receive(_ result: Result<ListAnswer, TandemError>, for fetch: Fetch) {
        // A different request may have been set and sent in the meantime.
        guard let plan = currentPlan(), plan.matches(fetch) else { return }
        switch result {
        case .failure(let error): refuse(error)
        case .success(let fetched):
            let found = fetched.answer
            for stored in Array(found.objects) + found.related where !plan.canRead(stored) {
                let number = stored.object.number
                return refuse(
                    TandemError(
                        .storage, "the row of object \(number) cannot be read; run `tandem check`"))
            }
            if let places = fetched.placements { return accept(places, found, plan) }
            let isComplete = fetch.request.limit.map { found.objects.count < $0 } ?? true
            answer = BufferedAnswer(plan: plan, answer: found, isComplete: isComplete)
        }
    }

    /// Accepts a list without row values; if its links are missing, the daemon evaluates later
    /// changes.
    private func accept(_ places: ReceivedPlacements, _ found: FetchAnswer, _ plan: ResultsPlan) {
        // Another answer to the same request has already opened the list.
        guard opening.plan != nil else { return }
        let hopCount = ResultsLinks(plan, pinsRows: false).hopCount
        guard [0, hopCount].contains(places.hopCount),
            places.chunks.lazy.flatMap(\.tagRuns).allSatisfy({
                plan.compiled.includes(tag: EntityTag($0.value))
            }),
            places.reached.allSatisfy({ plan.compiled.model.entity(tagged: $0.tag) != nil })
        else {
            return refuse(
                TandemError(.storage, "the placements of the list's objects cannot be decoded"))
        }
        let followedPlan = places.hopCount == hopCount ? plan : plan.evaluatedByDaemon
        opening.renew(followedPlan)
        answer = BufferedAnswer(
            plan: followedPlan, answer: found, isComplete: true, known: (.placements(places), []))
    }

    /// Ends the pending fetch with an error, or stops updating the list if none is pending.
    ///
    /// The error means that the list does not fit the model, or that the daemon refuses to send it.
    private func refuse(_ error: TandemError) {
        answer = nil
        if opening.plan != nil {
            opening = .failed(error)
        } else {
            phase.refuse(after: list.shown.position)
            list.fail(error, phase.plan)
        }
    }

    func resetAfterGap() {
        answer = nil
        phase.interrupt(after: list.shown.position)
    }

    // MARK: Stepping

    func step(_ group: MergedGroup, _ verdicts: [Verdict]?) {
        defer { if phase.followed != nil { list.advance() } }
        if group.isRestart {
            answer = nil
            phase.retry()
        }
        if let answer, answer.covers(group) {
            self.answer = nil
            if replace(by: CaughtUpAnswer(answer, group, verdicts, source)) { return }
        } else if let plan = phase.followed, opening.plan == nil, !group.isRestart {
            if group.changes.isEmpty, verdicts == nil { return list.applyOverlay(plan) }
            return list.apply(group, verdicts, plan)
        }
        // The group was not applied, so the list misses its changes, unless the group is empty.
        if group.isRestart || group.isBackward || group.to > group.from {
            phase.interrupt(after: list.shown.position)
        }
    }

    /// Replaces the list; returns false if the list to be opened is out of order.
    private func replace(by answer: CaughtUpAnswer) -> Bool {
        let sums = opening.sums
        assert(
            opening.plan.map { $0 === answer.plan } ?? true,
            "The answer belongs to the last fetch.")
        opening.end()
        if let problem = list.replace(by: answer, phase, opening: sums) {
            opening = .failed(TandemError(problem))
            return false
        }
        phase = .following(answer.plan)
        return true
    }

    func deliver() { if list.outbox.deliver() { keepInCache() } }

    func didEndConnection(_ failure: TandemError) {
        list.fail(failure, phase.plan)
        deliver()
    }

    // MARK: Edits

    func objects(around object: ObjectReference, _ count: Int) -> [ObjectReference] {
        let shown = list.shown.visible
        guard let offset = shown.offset(of: object.number) else { return [] }
        let start = max(0, offset - count / 4)
        return shown.references(in: start..<start + count)
    }

    func invalidate(_ object: ObjectReference) { list.overlay.touch(object) }

    var isOverlayStale: Bool {
        guard list.overlay.isStale, let plan = phase.followed else { return false }
        return plan.compiled.model === source.session?.model
    }

    func stepOverlay() -> Bool {
        guard isOverlayStale, let plan = phase.followed else { return false }
        list.applyOverlay(plan)
        return list.outbox.needsDelivery
    }

    func willDiscardData() {
        guard let plan = phase.followed, source.session?.model === plan.compiled.model else {
            return
        }
        list.storeLastShownValues(plan)
    }
}
