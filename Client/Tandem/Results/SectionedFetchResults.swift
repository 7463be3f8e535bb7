public import Observation
public import TandemModel
import TandemResults

/// A list with section names as identifiers; without a section key path it has one section, `""`.
public typealias FetchedResults<Element> = SectionedFetchResults<String, Element>

/// An observable list: a collection of elements in sections that stays up to date with its source.
///
/// The elements are objects of a class, or values made from objects (``ObjectValue``). Each is
/// created when it is read; the list itself holds numbers and keys. Source and request can be set
/// at any time, for example to replace the store with literal values. At any moment, the list shows
/// either the old content or the new content. The list belongs to the actor of its context.
///
/// Views that read the list under `withObservationTracking` are notified when elements are
/// inserted, deleted or moved, when a value made from an object changes, and when ``error``
/// changes. Observers of an object's properties are notified by the object. Notifications are
/// delivered after the merge that changed the list, and never while the list is being read. If
/// reading a row loads values at a newer position, the resulting changes are published afterwards.
///
///     let teams = SectionedFetchResults<String, Team>(
///         source: .store(context),
///         request: ResultsRequest(
///             sort: ["group.name", "-wins"], sectionNameKeyPath: "group.name"))
///     for section in teams.sections {
///         print(section.id, section.count)
///         for team in section { print(team.name) }
///     }
public final class SectionedFetchResults<SectionIdentifier: Hashable, Element>: Observable {
    let definition: ResultsDefinition<SectionIdentifier, Element>
    private let registrar = ObservationRegistrar()
    private let signalFeeds = SignalFeeds()
    private(set) var content = ResultsContent<SectionIdentifier, Element>.empty
    private var failure: TandemError?
    private var requested: ResultsRequest?
    private var origin: ResultsSource<Element>
    /// The number of times the list was published; observations track this property.
    private var revision = 0
    /// The number of elements being created; creating an element may load values, and thereby cause
    /// a merge.
    private var reads = 0
    private var pending = PendingPublication()

    /// Whether observers are notified of updated elements, in addition to changes in membership and
    /// order.
    ///
    /// True by default for values, false for objects, whose properties have observers of their own.
    /// Updates of rows through ``ResultsRequest/relationshipKeyPathsForRefreshing`` are published
    /// in both cases.
    ///
    /// The list may be published with the same ids as before: after changes that cancel each other
    /// out, after a change during a read, and after a new source or request is set.
    public var publishesUpdates: Bool

    /// The change that was published last; nil if several changes were published as one, or if the
    /// list was replaced.
    public private(set) var lastChange: ControllerChange?

    /// A closure that is called after the list was published and observers were notified.
    ///
    /// `isFirst` is true for the first list, which needs no animation.
    public var onChange: ((_ isFirst: Bool) -> Void)?

    /// Returns a sequence of signals that the list was published, for code that reads the whole
    /// list each time.
    ///
    /// There may be several such sequences. A signal carries no value, and unread signals are
    /// merged into one. Changes to values alone are signalled only if ``publishesUpdates`` is true.
    /// The sequence ends when the list is released or its reader is cancelled.
    ///
    ///     for await _ in teams.signals() { draw(teams) }
    public func signals() -> some AsyncSequence<Void, Never> & Sendable { signalFeeds.make() }

    private var isFirst = true
    /// The number of times that the source or the request was set.
    private var attempts = 0

    init(
        _ definition: ResultsDefinition<SectionIdentifier, Element>,
        source: ResultsSource<Element>, request: ResultsRequest?
    ) {
        self.definition = definition
        publishesUpdates = definition.isValue
        origin = source
        requested = request
        open()
    }

    // MARK: Source and request

    /// The source of the elements.
    ///
    /// Setting the source blocks while the list is fetched. If the fetch fails, ``error`` gives the
    /// reason.
    public var source: ResultsSource<Element> {
        get { origin }
        set {
            origin = newValue
            open()
        }
    }

    /// The request; nil for an empty list.
    ///
    /// Setting the request blocks while the list is fetched. If the fetch fails, ``error`` gives
    /// the reason, and the list stays as it was.
    public var request: ResultsRequest? {
        get { requested }
        set {
            requested = newValue
            open()
        }
    }

    /// Sets the source and the request together, without blocking.
    ///
    /// Throws the errors of ``FetchedResultsController/performFetch()``; the list then stays as it
    /// was.
    public func load(
        from source: ResultsSource<Element>, _ request: ResultsRequest?
    ) async throws {
        (origin, requested) = (source, request)
        let attempt = begin()
        do {
            let controller = try makeController()
            try await controller?.performFetch()
            try adopt(controller, attempt)
        } catch {
            fail(error, attempt)
            throw error
        }
    }

    /// The reason why the list is not up to date; nil if there is no failure.
    public var error: TandemError? {
        access()
        return failure ?? controller?.error
    }

    /// The position of the shown list; nil for literal values.
    public var position: Position? {
        access()
        return controller?.position
    }

    /// The controller of a list from the store, which provides index paths of ids, sums and index
    /// titles; nil for literal values.
    ///
    /// Each request has a controller of its own. While the list is being read, the controller may
    /// already show a newer list.
    public var controller: FetchedResultsController<ManagedObject>? {
        if case .store(let controller) = content { controller } else { nil }
    }

    private func open() {
        let attempt = begin()
        do {
            let controller = try makeController()
            try controller?.performFetch()
            try adopt(controller, attempt)
        } catch {
            fail(error, attempt)
        }
    }

    /// Begins to replace the content; if several attempts overlap, only the last one takes effect.
    func begin() -> Int {
        attempts += 1
        return attempts
    }

    /// Creates a controller for the source and the request, without fetching; nil if there is
    /// nothing to fetch.
    private func makeController() throws -> FetchedResultsController<ManagedObject>? {
        guard case .store(let context) = origin, let requested else { return nil }
        guard let entity = definition.entity else {
            throw TandemError(
                .usage,
                "a list of \(Element.self) made from literal values cannot show a store; "
                    + "declare the list with Query, or make \(Element.self) conform to ObjectValue")
        }
        definition.register(context)
        let fetch = requested.fetchRequest(of: entity)
        let controller = try FetchedResultsController(
            fetchRequest: fetch, context: context,
            sectionNameKeyPath: requested.sectionNameKeyPath,
            relationshipKeyPathsForRefreshing: requested.relationshipKeyPathsForRefreshing,
            cacheName: requested.cacheName)
        controller.sumProperties = requested.sumProperties
        controller.includesPendingChanges = requested.includesPendingChanges
        return controller
    }

    private func adopt(_ made: FetchedResultsController<ManagedObject>?, _ attempt: Int) throws {
        guard attempt == attempts else { return }
        if let made { try definition.check(made.context) }
        let old = controller
        switch origin {
        case .values(let values, let name):
            let sections = try definition.sections(
                of: values, by: name, requested?.sectionNameKeyPath)
            content = .values(values, sections)
        case .none, .store:
            content = made.map { .store($0) } ?? .empty
        }
        old?.follower.list.outbox.observer = nil
        made?.follower.list.outbox.observer = self
        failure = nil
        pending.reset()
        publish(nil)
    }

    func fail(_ error: any Error, _ attempt: Int) {
        guard attempt == attempts else { return }
        failure = error as? TandemError ?? TandemError(.storage, "\(error)")
        publish(nil)
    }

    // MARK: Reading

    /// The list that readers see; nil for literal values.
    var list: SectionedList? { pending.heldList ?? controller?.visible }

    /// Registers a read of the list with the current observation, if there is one.
    func access() { registrar.access(self, keyPath: \.revision) }

    /// Keeps the shown list unchanged during `body`, which may load values and thereby cause a
    /// merge.
    func reading<Result>(_ body: () -> Result) -> Result {
        reads += 1
        defer { reads -= 1 }
        return body()
    }

    // MARK: Publishing

    private func publish(_ change: ControllerChange?) {
        lastChange = change
        let isFirst = isFirst
        if case .empty = content {} else { self.isFirst = false }
        registrar.withMutation(of: self, keyPath: \.revision) { revision += 1 }
        signalFeeds.send()
        onChange?(isFirst)
    }

    private func publishWhatChanged() {
        guard let (changes, isWanted) = pending.drain({ publishesUpdates || isRefresh($0) }) else {
            return
        }
        if isWanted { publish(changes.count == 1 ? changes.first : nil) }
    }
}

extension SectionedFetchResults: ResultsObserver {
    /// Returns whether a change includes values at the key paths that the request declares for
    /// refreshing.
    private func isRefresh(_ change: ResultsChange) -> Bool {
        guard let controller, !controller.relationshipKeyPathsForRefreshing.isEmpty else {
            return false
        }
        return change.reasons.values.contains { $0.contains(.refreshPath) }
    }

    /// Whether an element is being created, or properties of an object are being loaded.
    private var isBeingRead: Bool {
        reads > 0 || controller.map { $0.context.family.loads > 0 } ?? false
    }

    var needsOldList: Bool { isBeingRead && pending.heldList == nil }

    func record(_ change: ControllerChange, from old: SectionedList?) {
        pending.record(change, from: isBeingRead ? old : nil)
    }

    func recordFailure() { pending.recordFailure() }

    func deliver() {
        if !isBeingRead { return publishWhatChanged() }
        guard let controller, pending.schedule() else { return }
        controller.context.root.reporter.postpone { [weak self] in self?.publishWhatChanged() }
    }
}
