import TandemIO
public import TandemModel

extension PersistentContainer {
    /// The directory for lists with a ``FetchedResultsController/cacheName``; nil disables caching.
    ///
    /// The default is a directory of this program below `$XDG_CACHE_HOME/tandem`, or else below
    /// `~/.cache/tandem`. It is nil without a home directory, as in a service. Programs that share
    /// a directory share the cache names. Set it before creating the first list.
    public var cacheDirectory: String? {
        get { core.cacheDirectory }
        set { core.cacheDirectory = newValue }
    }

    /// Deletes a cached list, or all lists in ``cacheDirectory`` if `name` is nil.
    ///
    /// This is never necessary, because an outdated cache is not used. Open lists keep their
    /// content and their name. Throws `storage` if a file can't be removed.
    public func deleteCache(named name: String?) throws(TandemError) {
        guard let path = cacheDirectory else { return }
        do throws(IOError) {
            try SectionCacheDirectory(path).delete(name)
        } catch {
            throw TandemError(.storage, "the cache cannot be removed: \(error)")
        }
    }
}
