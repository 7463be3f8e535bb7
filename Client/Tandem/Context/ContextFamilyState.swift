import TandemModel

/// The state that a root context shares with its descendants: position, pin, lists and observers.
final class ContextFamilyState {
    /// The connection's log and model as known to the context, or nil before the context's first
    /// use.
    private(set) var session: ServerState? { didSet { repositionCount += 1 } }
    /// The position up to which all transactions are merged.
    private(set) var merged: UInt64 = 0 {
        didSet {
            link.merged = merged
            guard merged != oldValue else { return }
            repositionCount += 1
            isStale = false
        }
    }
    /// The number of changes to the position or the session.
    ///
    /// Data read before such a change belongs to a different position.
    private(set) var repositionCount = 0
    /// Whether automatic merging is paused.
    var isPaused = false
    /// Whether an automatic merge has failed and nothing has been merged since.
    var isStale = false
    /// The pin that keeps the family at its position; nil if it is not pinned.
    var pin: Pin?
    /// The last position whose saves were reported; a context that moves back and forth reports
    /// each save once.
    private(set) var reported: UInt64 = 0
    /// The number of property reads that are loading data.
    private(set) var loads = 0
    /// The changes that observers will be notified of after the current merge; nil outside a merge.
    private var notices: [ObserverNotice]?
    /// The changes that were recorded while a property was being loaded; observers are notified
    /// afterwards.
    private var unreported: [ObserverNotice] = []
    let participants = MergeParticipants()
    let mergeDeferral: MergeDeferral
    /// The payloads of merged saves.
    let payloads: PayloadHub
    let link: ContextLink

    init(_ link: ContextLink, _ limits: ClientLimits) {
        self.link = link
        mergeDeferral = MergeDeferral(link)
        payloads = PayloadHub(limits)
    }

    // MARK: Position

    /// Sets the session and the position at which the family starts.
    func enter(_ session: ServerState, at position: UInt64) {
        self.session = session
        merged = position
    }

    /// Marks everything up to a position as merged; does nothing for an earlier position.
    func advance(to position: UInt64) {
        guard let session, position >= merged else { return }
        merged = position
        if position > session.position { self.session?.position = position }
        assert(merged <= self.session?.position ?? 0, "Only transactions of the log are merged.")
    }

    /// Moves to a position, which may be an earlier one.
    func move(to position: UInt64) { merged = position }

    /// Resumes merging from a connection's stream at the family's position, without a restart.
    func join(_ stream: ServerState) { session?.generation = stream.generation }

    /// Detaches the family from the connection's stream, so that the next merge restarts the
    /// family.
    func leaveStream() { session?.generation = -1 }

    /// Marks the saves up to a position as reported.
    ///
    /// If the log has changed, the mark is set even if it is lower than before.
    func markReported(through position: UInt64, isOtherLog: Bool) {
        reported = isOtherLog ? position : max(reported, position)
    }

    /// Runs `body`, which loads data for a property that is being read.
    func withLoad(_ body: () -> Void) {
        loads += 1
        defer { loads -= 1 }
        body()
    }

    // MARK: Notices

    /// Defers notices until ``drainNotices()``, because an observer could otherwise read a
    /// partially applied merge.
    func deferNotices() { notices = notices ?? [] }

    /// Stores a notice and returns true if notices are being deferred.
    func deferIfMerging(_ notice: @autoclosure () -> ObserverNotice) -> Bool {
        guard notices != nil else { return false }
        notices?.append(notice())
        return true
    }

    /// Ends the deferral and returns the stored notices.
    func drainNotices() -> [ObserverNotice] {
        defer { notices = nil }
        return notices ?? []
    }

    /// Whether notices that were deferred while a property was being loaded are still undelivered.
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
        for notice in all {
            guard let context = notice.context else { continue }
            context.reporter.notifyObservers(of: notice.number, notice.slots)
        }
    }
}

/// A change to an object that observers have to be notified of.
struct ObserverNotice {
    weak var context: ManagedObjectContext?
    let number: ObjectNumber
    /// The properties that changed; nil for all of them.
    let slots: PropertyMask?
}
