import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// The list's cache file: written after a fetch and as the list changes, and read by the first
/// fetch of a controller with the same cache name.
///
/// A list that is opened from its cache requests the changes since the cached position, as a merge
/// does, instead of all rows. A list with a limit or an offset is not cached, because it is fetched
/// quickly.
extension FetchedResultsController {
    private var cache: SectionCacheDirectory? {
        cacheName == nil ? nil : source.core.cacheDirectory.map { SectionCacheDirectory($0) }
    }

    /// Returns the cached list, or nil if there is no usable cache.
    func cached(_ plan: ResultsPlan, in session: ServerState) -> SectionCache? {
        guard let cacheName, self.plan == nil, !plan.isWindow, sumProperties.isEmpty,
            // A pinned context does not move, so a cached list could not be brought forward.
            source.pinnedPosition == nil, let found = cache?.load(cacheName),
            found.request == plan.cacheHash, found.position.isComparable(with: session.position(0)),
            found.position.number <= session.position, found.fits(plan)
        else { return nil }
        return found
    }

    /// Returns the plan for a list that is opened from its cache: `plan`, or one with verdicts of
    /// the daemon if the rows reach too many objects for the context, or the cache has no links.
    func followed(_ found: SectionCache, _ plan: ResultsPlan) -> ResultsPlan {
        let isTooMuch = found.links.objects.count > source.core.limits.cachedRows / 2
        return isTooMuch || found.links.hops == 0 ? plan.judgedByDaemon : plan
    }

    /// Brings a cached list forward to the present, then merges up to that position; does nothing
    /// if history does not reach back that far.
    func bringForward(
        _ found: SectionCache, _ plan: ResultsPlan, _ calls: DaemonCalls
    ) async throws {
        // The related objects are read at the position of the verdicts.
        let read = Read(
            objects: plan.mode == .related ? found.links.objects : [],
            interests: plan.interests)
        let request = VerdictRequest(
            from: found.position.number, items: [plan.cacheItem], alongside: .read(read))
        let result = try await source.tracedAnswer(to: .verdicts(request), calls)
        if case .failure(let error) = result,
            error.code == .disconnected || error.code == .timeout
        {
            throw error
        }
        guard case .success(.verdicts(let verdicts)) = result, verdicts.items.count == 1,
            case .objects(let related)? = verdicts.alongside, opening != nil,
            source.pinnedPosition == nil,
            let bufferedAnswer = BufferedAnswer(cached: found, verdicts, related, plan)
        else { return }
        self.bufferedAnswer = bufferedAnswer
        try await source.merge(through: verdicts.position, calls)
    }

    /// Writes the list to its cache, if enough rows changed since the last time.
    ///
    /// The file may lag, because the journal has the missing changes. It is therefore written only
    /// when catching up would become expensive.
    func keepInCache(isFinal: Bool = false) {
        guard let cacheName, let cache, let plan, !plan.isWindow, error == nil, interruption == nil,
            let position = lastPosition, changesSinceCached > (isFinal ? 0 : list.count / 4 + 1_000)
        else { return }
        changesSinceCached = 0
        var rows = list.allRows.filter { overlay[$0.number] == nil }
        rows += overlay.entries.values.compactMap(\.stored)
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

extension BufferedAnswer {
    /// Creates an answer from a cached list, the verdicts since its position, and its related
    /// objects; nil if any row can't be read.
    init?(
        cached: SectionCache, _ verdicts: Verdicts, _ related: ReadAnswer, _ plan: ResultsPlan
    ) {
        let all = verdicts.related + related.objects
        for object in all {
            let entity = plan.compiled.model.entity(tagged: object.object.tag)
            guard let entity, object.row.isValid(for: entity) else { return nil }
        }
        self.plan = plan
        isComplete = true
        answer = FetchAnswer(position: verdicts.position, count: 0, related: all)
        known = (.rows(cached.rows, cached.links), verdicts.items[0])
    }
}

extension SectionCache {
    /// Whether all entities in the cache belong to the plan's model.
    fileprivate func fits(_ plan: ResultsPlan) -> Bool {
        let model = plan.compiled.model
        return [0, ResultsLinks(plan, pinsRows: false).hops].contains(links.hops)
            && rows.allSatisfy { plan.compiled.includes(tag: $0.entityTag) }
            && links.objects.allSatisfy { model.entity(tagged: $0.tag) != nil }
    }
}

extension ResultsPlan {
    /// The query for changes of the list since a position.
    fileprivate var cacheItem: VerdictItem {
        VerdictItem(
            request: unlimited, sectionKeyPath: sectionKeyPath,
            refreshKeyPaths: compiled.refreshKeyPaths)
    }

    /// The hash of the request and the model.
    fileprivate var cacheHash: StableHash {
        var writer = ByteWriter()
        cacheItem.encode(into: &writer)
        writer.uint64(compiled.model.hash.first)
        writer.uint64(compiled.model.hash.second)
        return StableHash(writer.bytes)
    }
}
