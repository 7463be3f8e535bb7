import TandemIO

/// Where key paths lead that were followed before, so that a predicate that is made for every look-up does not find it out anew.
///
/// What a key path leads along depends on nothing but itself. Those of one program are few; where it makes more than ``most``, all are
/// forgotten.
enum KnownKeyPaths {
    /// So many are remembered.
    static let most = 1_024

    /// A key path as a key.
    ///
    /// `@unchecked`: it never changes, and what a subscript in it captured is only compared and hashed, under the lock.
    private struct Key: Hashable, @unchecked Sendable {
        let path: AnyKeyPath
    }

    private static let known = Locked<[Key: KeyPathTrace.Path]>([:])

    /// Where a key path leads; nil if it was not noted.
    static subscript(path: AnyKeyPath) -> KeyPathTrace.Path? {
        known.withLock { $0[Key(path: path)] }
    }

    /// Notes where a key path leads.
    static func note(_ path: AnyKeyPath, _ found: KeyPathTrace.Path) {
        known.withLock { known in
            if known.count >= most { known.removeAll() }
            known[Key(path: path)] = found
        }
    }
}
