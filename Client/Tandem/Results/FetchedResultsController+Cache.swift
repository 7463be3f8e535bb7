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
            found.position.number <= session.position
        else { return nil }
        return found
    }

    /// Brings a cached list forward to the present, then merges up to that; nil when history does not reach back.
    func forwardStep(_ found: SectionCache, _ plan: ResultsPlan) throws -> Step<Void> {
        let read = Read(objects: [], members: [], interests: plan.interests)
        return try source.askStep(.read(read)).then { _ in
            guard self.source.pinnedPosition == nil else { return .done(()) }
            let request = VerdictRequest(from: found.position.number, items: [plan.cacheItem])
            return try self.source.askStep(.verdicts(request)).then { answer in
                guard case .verdicts(let verdicts)? = answer, verdicts.items.count == 1,
                    self.opening != nil, self.source.pinnedPosition == nil
                else { return .done(()) }
                self.prefetched = Prefetched(cached: found, verdicts, plan)
                return try self.source.mergeStep(through: verdicts.position)
            }
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
        let kept = SectionCache(request: plan.cacheHash, position: position, rows: rows)
        cache.save(kept, as: cacheName)
    }
}

extension Prefetched {
    /// A cached list with what became of it since.
    init(cached: SectionCache, _ verdicts: Verdicts, _ plan: ResultsPlan) {
        self.plan = plan
        isComplete = true
        answer = Fetched(
            position: verdicts.position, count: 0, related: verdicts.related)
        known = (cached.rows, verdicts.items[0])
    }
}

extension ResultsPlan {
    /// The question what became of the list since a position.
    fileprivate var cacheItem: VerdictItem {
        VerdictItem(request: unlimited, sectionKeyPath: sectionKeyPath, refreshKeyPaths: [])
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
        .ask(message) { result in
            switch result {
            case .success(let answer): return .done(answer)
            case .failure(let error):
                if error.code == .disconnected || error.code == .timeout { throw error }
                return .done(nil)
            }
        }
    }
}
