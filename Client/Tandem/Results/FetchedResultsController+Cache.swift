import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// The list in a file: written after a fetch and as it changes, read when a controller of its name first fetches.
///
/// Opening from it asks what became of the list since its position, as a merge does, instead of fetching every row. A part of a
/// list (limit, offset) is not cached: it is quickly fetched.
extension FetchedResultsController {
    private var cache: SectionCacheDirectory? {
        cacheName == nil ? nil : source.core.cacheDirectory.map { SectionCacheDirectory($0) }
    }

    /// What is needed to open the list from its cache; nil when there is none that fits.
    func cached(_ plan: ResultsPlan, in session: Session) -> SectionCache? {
        guard let cacheName, self.plan == nil, !plan.isWindow, sumProperties.isEmpty,
            // A context that is pinned stands where it is.
            source.pinnedPosition == nil, let found = cache?.load(cacheName),
            found.request == plan.cacheHash, found.position.isComparable(with: session.position(0)),
            found.position.number <= session.position, found.fits(plan)
        else { return nil }
        return found
    }

    /// What follows a list that is opened from its cache: the same as of one that is fetched, unless it leads to more than the context keeps.
    func followed(_ found: SectionCache, _ plan: ResultsPlan) -> ResultsPlan {
        let isTooMuch = found.links.objects.count > source.core.limits.cachedRows / 2
        return isTooMuch || found.links.hops == 0 ? plan.judgedByDaemon : plan
    }

    /// Brings a cached list forward to the present, then merges up to that; nothing happens when history does not reach back.
    func forwardStep(_ found: SectionCache, _ plan: ResultsPlan) throws -> Step<Void> {
        // What rows reach comes with what became of them, at one position.
        let read = Read(
            objects: plan.mode == .related ? found.links.objects : [],
            interests: plan.interests)
        let request = VerdictRequest(
            from: found.position.number, items: [plan.cacheItem], alongside: .read(read))
        return try source.askStep(.verdicts(request)).then { answer in
            guard case .verdicts(let verdicts)? = answer, verdicts.items.count == 1,
                case .objects(let related)? = verdicts.alongside, self.opening != nil,
                self.source.pinnedPosition == nil,
                let prefetched = Prefetched(cached: found, verdicts, related, plan)
            else { return .done(()) }
            self.prefetched = prefetched
            return try self.source.mergeStep(through: verdicts.position)
        }
    }

    /// Keeps the list as it is now, if it changed enough since it was kept.
    ///
    /// The file may lag: what it lacks is in the journal. So it is written when it would be dear to catch up from.
    func keepInCache(isFinal: Bool = false) {
        guard let cacheName, let cache, let plan, !plan.isWindow, error == nil, interruption == nil,
            let position = lastPosition, unkept > (isFinal ? 0 : list.count / 4 + 1_000)
        else { return }
        unkept = 0
        var rows = list.allRows.filter { overlay[$0.number] == nil }
        rows += overlay.laid.values.compactMap(\.stored)
        rows.sort { $0.precedes($1) }
        var kept = SectionCache(request: plan.cacheHash, position: position, rows: rows)
        if let links {
            guard let found = links.kept(of: rows, source) else { return }
            kept.links = found
        } else if ResultsLinks(plan, pinsRows: false).hops > 0 {
            return
        }
        cache.save(kept, as: cacheName)
    }
}

extension Prefetched {
    /// A cached list with what became of it since, and what it leads to; nil if some of that can't be read.
    init?(
        cached: SectionCache, _ verdicts: Verdicts, _ related: Objects, _ plan: ResultsPlan
    ) {
        let all = verdicts.related + related.objects
        for object in all {
            let entity = plan.compiled.model.entity(tagged: object.object.tag)
            guard let entity, object.row.isValid(for: entity) else { return nil }
        }
        self.plan = plan
        isComplete = true
        answer = Fetched(position: verdicts.position, count: 0, related: all)
        known = (.rows(cached.rows, cached.links), verdicts.items[0])
    }
}

extension SectionCache {
    /// Whether all that it names is of the plan's model.
    fileprivate func fits(_ plan: ResultsPlan) -> Bool {
        let model = plan.compiled.model
        return [0, ResultsLinks(plan, pinsRows: false).hops].contains(links.hops)
            && rows.allSatisfy { plan.compiled.includes(tag: $0.entityTag) }
            && links.objects.allSatisfy { model.entity(tagged: $0.tag) != nil }
    }
}

extension ResultsPlan {
    /// The question what became of the list since a position.
    fileprivate var cacheItem: VerdictItem {
        VerdictItem(
            request: unlimited, sectionKeyPath: sectionKeyPath,
            refreshKeyPaths: compiled.refreshKeyPaths)
    }

    /// What the list is of: request and model.
    fileprivate var cacheHash: StableHash {
        var writer = ByteWriter()
        cacheItem.encode(into: &writer)
        writer.uint64(compiled.model.hash.first)
        writer.uint64(compiled.model.hash.second)
        return StableHash(writer.bytes)
    }
}

extension ManagedObjectContext {
    /// Asks something; nil when the daemon refuses.
    ///
    /// What keeps it from being asked is thrown.
    fileprivate func askStep(_ message: ClientMessage) throws -> Step<DaemonMessage?> {
        toldAsk(message) { result in
            switch result {
            case .success(let answer): return .done(answer)
            case .failure(let error):
                if error.code == .disconnected || error.code == .timeout { throw error }
                return .done(nil)
            }
        }
    }
}
