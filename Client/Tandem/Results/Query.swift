import TandemModel
public import TandemQuery

/// Declares a list of objects of an app's model, with predicate and order; its source is set later.
///
///     @Observable final class Standings {
///         @ObservationIgnored @Query("wins > 0", sort: ["-wins"])
///         var teams: FetchedResults<TeamRow>
///         init(_ source: ResultsSource<TeamRow>) { teams.source = source }
///     }
///     let live = Standings(.store(container.viewContext))
///     let preview = Standings(.values([TeamRow(name: "Cameroon")]))
///
/// The list observes itself, so it need not be tracked by a class that is `@Observable`; the macro
/// requires its wrapped properties to be marked as ignored. If the predicate can't be parsed, the
/// error is the list's ``SectionedFetchResults/error``.
@propertyWrapper
public struct Query<SectionIdentifier: Hashable, Element> {
    /// The list; its source and request are set on the list itself.
    public let wrappedValue: SectionedFetchResults<SectionIdentifier, Element>

    /// Creates a list of values made from objects, in one section or in sections by name.
    public init(
        _ format: String? = nil, _ arguments: [PredicateArgument] = [], sort: [SortKey],
        sections: String? = nil, refresh: [String] = [], limit: Int? = nil
    ) where SectionIdentifier == String, Element: ObjectValue {
        wrappedValue = SectionedFetchResults()
        wrappedValue.ask(format, arguments, sort, sections, refresh, limit)
    }

    /// Creates a list of objects, in one section or in sections by name.
    public init(
        _ format: String? = nil, _ arguments: [PredicateArgument] = [], sort: [SortKey],
        sections: String? = nil, refresh: [String] = [], limit: Int? = nil
    ) where SectionIdentifier == String, Element: ManagedEntity {
        wrappedValue = SectionedFetchResults()
        wrappedValue.ask(format, arguments, sort, sections, refresh, limit)
    }

    /// Creates a list of values in sections of any hashable type.
    ///
    /// The identifier is computed from the first element of each section of the key path
    /// `sections`, or from every element if there is no key path. Neighbours with the same
    /// identifier form one section, so an identifier can be computed, for example the day in a list
    /// sorted by time.
    public init(
        _ format: String? = nil, _ arguments: [PredicateArgument] = [], sort: [SortKey],
        sections: String? = nil, by identifier: @escaping (Element) -> SectionIdentifier,
        refresh: [String] = [], limit: Int? = nil
    ) where Element: ObjectValue {
        wrappedValue = SectionedFetchResults(sectionIdentifier: identifier)
        wrappedValue.ask(format, arguments, sort, sections, refresh, limit)
    }

    /// Creates a list of objects in sections of any hashable type.
    ///
    /// The identifier is computed from the first element of each section of the key path
    /// `sections`, or from every element if there is no key path. Neighbours with the same
    /// identifier form one section, so an identifier can be computed, for example the day in a list
    /// sorted by time.
    public init(
        _ format: String? = nil, _ arguments: [PredicateArgument] = [], sort: [SortKey],
        sections: String? = nil, by identifier: @escaping (Element) -> SectionIdentifier,
        refresh: [String] = [], limit: Int? = nil
    ) where Element: ManagedEntity {
        wrappedValue = SectionedFetchResults(sectionIdentifier: identifier)
        wrappedValue.ask(format, arguments, sort, sections, refresh, limit)
    }
}

extension SectionedFetchResults {
    /// Creates a list of values made from objects, with sections by name.
    public convenience init(
        source: ResultsSource<Element> = .none, request: ResultsRequest? = nil
    ) where SectionIdentifier == String, Element: ObjectValue {
        self.init(.values(.byName { $0 }), source: source, request: request)
    }

    /// Creates a list of objects with sections by name.
    public convenience init(
        source: ResultsSource<Element> = .none, request: ResultsRequest? = nil
    ) where SectionIdentifier == String, Element: ManagedEntity {
        self.init(.objects(.byName { $0 }), source: source, request: request)
    }

    /// Creates a list of values with sections identified by their first elements; neighbours with
    /// the same identifier form one section.
    public convenience init(
        source: ResultsSource<Element> = .none, request: ResultsRequest? = nil,
        sectionIdentifier: @escaping (Element) -> SectionIdentifier
    ) where Element: ObjectValue {
        self.init(.values(.byElement(sectionIdentifier)), source: source, request: request)
    }

    /// Creates a list of objects with sections identified by their first elements; neighbours with
    /// the same identifier form one section.
    public convenience init(
        source: ResultsSource<Element> = .none, request: ResultsRequest? = nil,
        sectionIdentifier: @escaping (Element) -> SectionIdentifier
    ) where Element: ManagedEntity {
        self.init(.objects(.byElement(sectionIdentifier)), source: source, request: request)
    }

    /// Sets the request of a declaration.
    func ask(
        _ format: String?, _ arguments: [PredicateArgument], _ sort: [SortKey],
        _ sections: String?, _ refresh: [String], _ limit: Int?
    ) {
        do throws(TandemError) {
            let predicate = try format.map { format throws(TandemError) in
                try ObjectPredicate(format: format, arguments: arguments)
            }
            request = ResultsRequest(
                predicate: predicate, sort: sort, sectionNameKeyPath: sections,
                relationshipKeyPathsForRefreshing: refresh, limit: limit)
        } catch {
            fail(error, begin())
        }
    }
}
