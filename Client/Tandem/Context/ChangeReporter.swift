import TandemModel
import TandemWire

/// Notifies observers of a context's objects and properties, and schedules work after the current
/// job.
final class ChangeReporter: StatefulPart {
    /// The observed properties of the context's objects.
    let observed: ObservedProperties
    /// The object changes that have not been reported yet.
    private let changes = UnreportedChanges()
    /// The work to do in the next scheduled job of the context.
    private var postponed: [() -> Void] = []

    override init(_ shared: SharedByParts) {
        observed = ObservedProperties(shared.family.link)
        super.init(shared)
    }

    // MARK: Properties

    /// Whether changes to an object have to be reported: it is observed, or there are child
    /// contexts.
    func hasObservers(of number: ObjectNumber) -> Bool {
        !children.isEmpty || observed.contains(number)
    }

    /// The objects with observed properties, in this context and its children.
    var observedNumbers: Set<ObjectNumber> {
        children.reduce(into: Set(observed.numbers)) { numbers, child in
            numbers.formUnion(child.reporter.observedNumbers)
        }
    }

    /// Notifies observers in this context and its children that properties of an object have
    /// changed.
    ///
    /// If `slots` is nil, all properties have changed. During a merge the notification is deferred
    /// until the merge is complete.
    func notifyObservers(of number: ObjectNumber, _ slots: PropertyMask? = nil) {
        guard hasObservers(of: number) else { return }
        if family.deferIfMerging(ObserverNotice(context: context, number: number, slots: slots)) {
            return
        }
        observed.willChange(number, slots)
        observed.didChange(number, slots)
        notifyChildren(of: number, slots)
    }

    /// Notifies observers in child contexts, whose edits are layered over the object's values.
    func notifyChildren(of number: ObjectNumber, _ slots: PropertyMask?) {
        for child in children {
            if let record = child.graph[number] { child.reporter.touch(record, .refresh) }
            child.reporter.notifyObservers(of: number, slots)
        }
    }

    // MARK: Objects

    /// Records in this context and its children that an object is about to change.
    func touch(_ record: ObjectRecord, _ reason: UnreportedChanges.Reason) {
        for child in children {
            guard let record = child.graph[record.reference.number] else { continue }
            child.reporter.touch(record, .refresh)
        }
        listUpdater.didEdit(record.reference)
        if changes.hasObservers {
            changes.touch(record, reason)
            scheduleReport()
        } else if !participants.isEmpty {
            scheduleReport()
        }
    }

    /// Records the changes of a merge before they are applied.
    ///
    /// `own` is the context's save in flight, whose transaction may be part of the group.
    func touch(_ group: MergedGroup, besides own: InFlightSave?) {
        for child in children { child.reporter.touch(group, besides: own) }
        guard changes.hasObservers, let model = session?.model else { return }
        let others = group.transactions.lazy.filter { own?.isMade(by: $0) != true }
        let foreign = Set(others.flatMap(\.changes).map(\.object.number))
        let edited = Set(own?.records.map(\.reference.number) ?? [])
        for change in group.changes {
            let number = change.object.number
            // Changes made only by the context's own save were reported as edits, except for values
            // that the daemon added.
            let isForeign = foreign.contains(number)
            if !isForeign, edited.contains(number) { continue }
            if let record = graph[number], record.object != nil {
                changes.touch(record, .refresh)
            }
            if isForeign { changes.merge(change.kind, model.id(of: change.object)) }
        }
        if parent != nil, !changes.isEmpty { scheduleReport() }
    }

    /// Registers an observer of object changes.
    func add(_ observation: ObjectsObservation) { changes.add(observation) }

    /// Returns a sequence of the object changes from now on.
    func sequence() -> FeedSequence<ObjectsChange, any Error> {
        FeedSequence(feed: changes.feed())
    }

    /// Applies edits to lists, and reports pending changes.
    func processPendingChanges() {
        listUpdater.stepOverlays()
        guard changes.hasObservers, !changes.isEmpty, !changes.isNotifying else { return }
        let change = changes.drain(at: context.position)
        if change.isEmpty { return }
        changes.notify(change, limit: core.limits.bufferedPayloads)
        if !changes.isEmpty { scheduleReport() }
    }

    /// Runs postponed work and reports pending changes, in this context and its children.
    func processScheduled() {
        changes.isScheduled = false
        let work = postponed
        postponed = []
        for work in work { work() }
        processPendingChanges()
        for child in children { child.reporter.processScheduled() }
    }

    /// Schedules work in a separate job on the context's actor.
    func postpone(_ work: @escaping () -> Void) {
        postponed.append(work)
        scheduleReport()
    }

    /// Schedules a job that reports pending changes.
    func scheduleReport() {
        guard !changes.isScheduled else { return }
        changes.isScheduled = true
        family.link.signalChanges()
    }
}
