import TandemModel
import TandemQuery
import TandemResults
import TandemWire

/// The cache file of a list: written after a fetch and as the list changes, and read by the first
/// fetch of a controller with the same cache name.
///
/// A list that is opened from its cache requests only the changes since the cached position, as a
/// merge does. A list with a limit or an offset is not cached, because it is fetched quickly.
///
/// The file may be out of date, because the journal has the missing changes. It is therefore
/// written only when catching up would become expensive.
struct ListCache {
    /// The name of the file; nil for no cache.
    var name: String?
    /// An upper bound on the number of rows that differ from the file.
    private var unwritten = 0

    private func directory(_ source: ManagedObjectContext) -> SectionCacheDirectory? {
        source.core.cacheDirectory.map { SectionCacheDirectory($0) }
    }

    /// Returns the cached list of a plan, or nil if there is no usable cache.
    func load(
        _ plan: ResultsPlan, in session: ServerState, _ source: ManagedObjectContext
    ) -> SectionCache? {
        let model = plan.compiled.model
        guard let name, let found = directory(source)?.load(name),
            found.request == plan.cacheHash, found.position.isComparable(with: session.position(0)),
            found.position.number <= session.position,
            [0, ResultsLinks(plan, pinsRows: false).hopCount].contains(found.links.hopCount),
            found.rows.allSatisfy({ plan.compiled.includes(tag: $0.entityTag) }),
            found.links.objects.allSatisfy({ model.entity(tagged: $0.tag) != nil })
        else { return nil }
        return found
    }

    /// Records that rows of the list changed.
    mutating func recordChanges(_ count: Int) { unwritten += count }

    /// Writes the list if enough of its rows changed; if the list is ending, writes it after any
    /// change.
    mutating func save(
        _ count: Int, isFinal: Bool, _ source: ManagedObjectContext, _ make: () -> SectionCache?
    ) {
        guard unwritten > (isFinal ? 0 : count / 4 + 1_000), let name,
            let directory = directory(source)
        else { return }
        unwritten = 0
        if let list = make() { directory.save(list, as: name) }
    }
}

extension BufferedAnswer {
    /// Creates an answer from a cached list, the verdicts since its position, and its related
    /// objects; nil if any row can't be read.
    init?(
        cached: SectionCache, _ verdicts: Verdicts, _ related: ReadAnswer, _ plan: ResultsPlan
    ) {
        let all = verdicts.related + related.objects
        guard all.allSatisfy(plan.canRead) else { return nil }
        self.plan = plan
        isComplete = true
        answer = FetchAnswer(position: verdicts.position, count: 0, related: all)
        known = (.rows(cached.rows, cached.links), verdicts.items[0])
    }
}

extension ResultsPlan {
    /// The hash of the request and the model.
    var cacheHash: StableHash {
        var writer = ByteWriter()
        rowQuery.encode(into: &writer)
        writer.uint64(compiled.model.hash.first)
        writer.uint64(compiled.model.hash.second)
        return StableHash(writer.bytes)
    }
}
