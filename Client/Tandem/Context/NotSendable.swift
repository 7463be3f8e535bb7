// What belongs to the actor that made it says so: the compiler refuses to let it go elsewhere, and refuses whoever claims that it may.

@available(*, unavailable) extension ManagedObjectContext: Sendable {}
@available(*, unavailable) extension ManagedObject: Sendable {}
@available(*, unavailable) extension ContextObserver: Sendable {}
@available(*, unavailable) extension FetchedResultsController: Sendable {}
@available(*, unavailable) extension SectionedFetchResults: Sendable {}
