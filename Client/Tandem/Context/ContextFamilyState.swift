import TandemModel

/// The position, pin and pause state that a root context shares with its descendants.
final class ContextFamilyState {
    /// The connection's log and model as known to the context, or nil before its first use.
    var session: ServerState? { didSet { repositionCount += 1 } }
    /// The position up to which everything is merged.
    var merged: UInt64 = 0 {
        didSet {
            link.merged = merged
            guard merged != oldValue else { return }
            repositionCount += 1
            isStale = false
        }
    }
    /// The number of changes of position or session; data read before such a change belongs to
    /// another position.
    private(set) var repositionCount = 0
    /// Whether automatic merging is paused.
    var isPaused = false
    /// Whether an automatic merge has failed and nothing has been merged since.
    var isStale = false
    /// The pin that keeps the family at its position; nil if it is not pinned.
    var pin: Pin?
    /// The last position whose saves were reported; a context that moves back and forth reports
    /// each save once.
    var told: UInt64 = 0
    /// The number of property reads that are loading data.
    var loads = 0
    /// The changes to notify observers of when the current merge is complete; nil outside of a
    /// merge.
    private var notices: [ObserverNotice]?
    /// The changes that were recorded while a property was being loaded; observers are notified
    /// afterwards.
    private var unreported: [ObserverNotice] = []
    private let link: ContextLink

    init(_ link: ContextLink) { self.link = link }

    /// Defers notices until ``drainNotices()``, because observers that read would see half a merge.
    func holdNotices() { notices = notices ?? [] }

    /// Stores a notice if notices are being deferred; returns whether they are.
    func keeps(_ notice: @autoclosure () -> ObserverNotice) -> Bool {
        guard notices != nil else { return false }
        notices?.append(notice())
        return true
    }

    /// Ends the deferral and returns the stored notices.
    func drainNotices() -> [ObserverNotice] {
        defer { notices = nil }
        return notices ?? []
    }

    /// Whether there are notices from the time when a property was being loaded.
    var hasUnreportedNotices: Bool { !unreported.isEmpty }

    /// Notifies the observers of objects, or defers the notification while a property is being
    /// loaded.
    ///
    /// The code that reads the property may be about to observe it, and would miss the change.
    func notify(_ more: [ObserverNotice]) {
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
    var session: ServerState? {
        get { familyState.session }
        set { familyState.session = newValue }
    }

    var merged: UInt64 {
        get { familyState.merged }
        set { familyState.merged = newValue }
    }
}
