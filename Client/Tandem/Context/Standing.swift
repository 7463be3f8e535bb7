import TandemModel

/// Where a context stands, together with its children and theirs.
final class Standing {
    /// The connection's log and model as the context knows them; nil before it was first used.
    var session: Session? { didSet { moves += 1 } }
    /// Everything up to here is merged.
    var merged: UInt64 = 0 {
        didSet {
            link.merged = merged
            guard merged != oldValue else { return }
            moves += 1
            isStale = false
        }
    }
    /// How often it was led elsewhere: what was read before another move is of another place.
    private(set) var moves = 0
    /// Whether nothing is merged unprompted.
    var isPaused = false
    /// Whether merging unprompted failed, and nothing was merged since.
    var isStale = false
    /// What keeps it where it is; nil unless it is pinned.
    var pin: Pin?
    /// The last position whose saves were told of: who is moved back and forth hears of each once.
    var told: UInt64 = 0
    /// How many reads of properties are under way that load what isn't held.
    var loads = 0
    /// The changes to notify observers of when the current merge is complete; nil outside of a merge.
    private var notices: [ObserverNotice]?
    /// The changes that were recorded while a property was being loaded; observers are notified afterwards.
    private var unreported: [ObserverNotice] = []
    private let link: ContextLink

    init(_ link: ContextLink) { self.link = link }

    /// Keeps what is noted of objects until ``drainNotices()``: who hears of a change reads, and would see half a merge.
    func holdNotices() { notices = notices ?? [] }

    /// Keeps a note, if notes are kept.
    func keeps(_ notice: @autoclosure () -> ObserverNotice) -> Bool {
        guard notices != nil else { return false }
        notices?.append(notice())
        return true
    }

    /// Ends the keeping, and gives what was kept.
    func drainNotices() -> [ObserverNotice] {
        defer { notices = nil }
        return notices ?? []
    }

    /// Whether something is to be told that was noted while somebody read.
    var hasUnreportedNotices: Bool { !unreported.isEmpty }

    /// Tells those who observe objects, unless somebody reads who may be about to: it would never hear of it.
    func tell(_ more: [ObserverNotice]) {
        unreported += more
        guard loads == 0 else { return }
        let all = unreported
        unreported = []
        for notice in all { notice.context?.notifyObservers(of: notice.number, notice.slots) }
    }
}

/// A change of an object that observers have to be notified of.
struct ObserverNotice {
    weak var context: ManagedObjectContext?
    let number: ObjectNumber
    /// The properties that changed; nil for all of them.
    let slots: PropertyMask?
}

extension ManagedObjectContext {
    var session: Session? {
        get { standing.session }
        set { standing.session = newValue }
    }

    var merged: UInt64 {
        get { standing.merged }
        set { standing.merged = newValue }
    }
}
