import TandemIO
public import TandemModel

extension PersistentContainer {
    /// Where lists are cached that have a ``FetchedResultsController/cacheName``; nil for nowhere.
    ///
    /// At first that is a directory of this program below `$XDG_CACHE_HOME/tandem`, else `~/.cache/tandem`; nowhere without a home, as in a
    /// service. Programs that share a directory share the names. Set it before the first list is made.
    public var cacheDirectory: String? {
        get { core.cacheDirectory }
        set { core.cacheDirectory = newValue }
    }

    /// Forgets a cached list; all of this container's ``cacheDirectory`` if nil.
    ///
    /// That is never needed: a cache that does not fit is not used. Lists that are open keep their content and their name.
    /// Throws `storage` when a file can't be removed.
    public func deleteCache(named name: String?) throws(TandemError) {
        guard let path = cacheDirectory else { return }
        do throws(IOError) {
            try SectionCacheDirectory(path).delete(name)
        } catch {
            throw TandemError(.storage, "the cache can't be removed: \(error)")
        }
    }
}
