public import Observation
public import TandemModel
import TandemResults

/// The results of a ``Query`` without sections of its own: one section, `""`.
public typealias FetchedResults<Element> = SectionedFetchResults<String, Element>

/// A list that keeps itself current: one collection of elements, cut into sections, observed by whoever reads it.
///
/// Elements are objects of a class, or values made of them (``ObjectValue``), one at a time when they are read; the list itself holds
/// numbers and keys. The source can be exchanged for literal values, and source and request can be set at any time; each such step shows one
/// list or the next. It belongs to the actor of its context.
///
/// Views that read it under `withObservationTracking` are told when elements come, go or move, when values differ, and when ``error`` changes; an
/// object tells of its own properties. They are told after the merge that changed it, and never while they are reading: what a read brings in (the values of a
/// row may have to be loaded, and are loaded at the newest position) shows up after it.
///
///     let teams = SectionedFetchResults<String, Team>(
///         source: .store(context),
///         request: ResultsRequest(sort: ["group.name", "-wins"], sectionNameKeyPath: "group.name"))
///     for section in teams.sections { print(section.id, section.count); for team in section { print(team.name) } }
public final class SectionedFetchResults<SectionIdentifier: Hashable, Element>: Observable {
    let definition: ResultsDefinition<SectionIdentifier, Element>
    let registrar = ObservationRegistrar()
    var content = ResultsContent<SectionIdentifier, Element>.empty
    var failure: TandemError?
    var requested: ResultsRequest?
    var origin: ResultsSource<Element>
    /// How often the list was published; what observers depend on.
    var revision = 0
    /// How many elements are being made: each may load, and so merge.
    var reads = 0
    /// What is shown until the reads under way are done, if a merge changed the list meanwhile.
    var held: SectionedList?
    var unpublished: [ControllerChange] = []
    var isUnpublished = false
    var isPostponed = false

    /// Whether observers are told of updates of elements as well, not just of which there are and in what order.
    ///
    /// On at first for values, off for objects: observers of an object's properties are notified of them anyway. Updates of rows through
    /// ``ResultsRequest/relationshipKeyPathsForRefreshing`` are published in both cases. The changes decide what is published, not the
    /// ids: several that undo each other, one amid reading, and another source or request may publish the ids of before.
    public var publishesUpdates: Bool

    /// The change that was published last; nil if several were published as one, or if the list was replaced.
    public internal(set) var lastChange: ControllerChange?

    /// Called when the list was published anew, after observers were told; `isFirst` at the first list, which wants no animation.
    public var onChange: ((_ isFirst: Bool) -> Void)?

    var isFirst = true
    /// How often source and request were set.
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

    /// Where elements come from; setting it blocks while the list is fetched, and ``error`` tells what failed.
    public var source: ResultsSource<Element> {
        get { origin }
        set {
            origin = newValue
            open()
        }
    }

    /// What is listed; nil for nothing yet.
    ///
    /// Setting it blocks while the list is fetched, and ``error`` tells what failed.
    ///
    /// A request that fails leaves the list as it was.
    public var request: ResultsRequest? {
        get { requested }
        set {
            requested = newValue
            open()
        }
    }

    /// Sets source and request in one step, without blocking.
    ///
    /// Throws what ``FetchedResultsController/performFetch()`` does; the list is then as it was.
    public nonisolated(nonsending) func load(
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

    /// Why the list does not show the present state; nil while all is well.
    public var error: TandemError? {
        access()
        return failure ?? controller?.error
    }

    /// The position that the list shows; nil for literal values.
    public var position: Position? {
        access()
        return controller?.position
    }

    /// The controller behind a list of the store, for places of ids, sums and index titles; nil for literal values.
    ///
    /// Another request has another one. While somebody reads the list, the controller may be ahead of it.
    public var controller: FetchedResultsController? {
        if case .store(let controller) = content { controller } else { nil }
    }

    func open() {
        let attempt = begin()
        do {
            let controller = try makeController()
            try controller?.performFetch()
            try adopt(controller, attempt)
        } catch {
            fail(error, attempt)
        }
    }

    /// Begins to show something else; of several attempts under way the last one counts.
    func begin() -> Int {
        attempts += 1
        return attempts
    }

    /// A controller of source and request, to be fetched; nil if there is nothing to fetch.
    private func makeController() throws -> FetchedResultsController? {
        guard case .store(let context) = origin, let requested else { return nil }
        definition.register(context)
        let fetch = requested.fetchRequest(of: definition.entity)
        let controller = try FetchedResultsController(
            fetchRequest: fetch, context: context,
            sectionNameKeyPath: requested.sectionNameKeyPath,
            relationshipKeyPathsForRefreshing: requested.relationshipKeyPathsForRefreshing,
            cacheName: requested.cacheName)
        controller.sumProperties = requested.sumProperties
        controller.includesPendingChanges = requested.includesPendingChanges
        return controller
    }

    private func adopt(_ made: FetchedResultsController?, _ attempt: Int) throws {
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
        old?.follower = nil
        made?.follower = self
        failure = nil
        unpublished = []
        held = nil
        publish(nil)
    }

    func fail(_ error: any Error, _ attempt: Int) {
        guard attempt == attempts else { return }
        failure = error as? TandemError ?? TandemError(.storage, "\(error)")
        publish(nil)
    }
}
