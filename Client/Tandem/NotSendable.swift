// Like their context, these types belong to the actor that creates them. The unavailable
// conformances make the compiler reject any transfer between actors, and any other declaration of
// the conformance.

@available(*, unavailable) extension ManagedObject: Sendable {}
@available(*, unavailable) extension ContextObserver: Sendable {}
@available(*, unavailable) extension FetchedResultsController: Sendable {}
@available(*, unavailable) extension SectionedFetchResults: Sendable {}
@available(*, unavailable) extension RowReader: Sendable {}
