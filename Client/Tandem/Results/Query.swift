import TandemModel
import TandemQuery

/// Declares a list of objects in an app's model, with a predicate and an order; its source is set
/// later.
///
///     @Observable final class Standings {
///         @ObservationIgnored @Query(where: \.wins > 0, sort: [.descending(\.wins)])
///         var teams: FetchedResults<TeamRow>
///         init(_ source: ResultsSource<TeamRow>) { teams.source = source }
///     }
///     let live = Standings(.store(container.viewContext))
///     let preview = Standings(.values([TeamRow(name: "Cameroon")]))
///
/// The list is itself observable, and the `@Observable` macro does not support wrapped properties,
/// so mark the property as ignored. If a key path or text can't be translated, the list's
/// ``SectionedFetchResults/error`` gives the reason.
@propertyWrapper
public struct Query<SectionIdentifier: Hashable, Element> {
    /// The list, whose source and request can be set.
    public let wrappedValue: SectionedFetchResults<SectionIdentifier, Element>

    /// Creates a list of values made from objects, in one section or in named sections.
    public init(
        where condition: TypedPredicate<Element.Object>? = nil, sort: [SortKey<Element.Object>],
        sections: PartialKeyPath<Element.Object>? = nil,
        refresh: [PartialKeyPath<Element.Object>] = [],
        limit: Int? = nil
    ) where SectionIdentifier == String, Element: ObjectValue {
        wrappedValue = SectionedFetchResults()
        wrappedValue.setRequest(condition, sort, sections, refresh, limit)
    }

    /// Creates a list of objects, in one section or in named sections.
    public init(
        where condition: TypedPredicate<Element>? = nil, sort: [SortKey<Element>],
        sections: PartialKeyPath<Element>? = nil, refresh: [PartialKeyPath<Element>] = [],
        limit: Int? = nil
    ) where SectionIdentifier == String, Element: ManagedEntity {
        wrappedValue = SectionedFetchResults()
        wrappedValue.setRequest(condition, sort, sections, refresh, limit)
    }

    /// Creates a list of values in sections of any hashable type.
    ///
    /// If `sections` is given, the identifier is read from the first element of each section;
    /// otherwise it is read from every element. Adjacent elements with the same identifier form one
    /// section, so the identifier can be a computed value, for example the day in a list sorted by
    /// time.
    public init(
        where condition: TypedPredicate<Element.Object>? = nil, sort: [SortKey<Element.Object>],
        sections: PartialKeyPath<Element.Object>? = nil,
        by identifier: @escaping (Element) -> SectionIdentifier,
        refresh: [PartialKeyPath<Element.Object>] = [], limit: Int? = nil
    ) where Element: ObjectValue {
        wrappedValue = SectionedFetchResults(sectionIdentifier: identifier)
        wrappedValue.setRequest(condition, sort, sections, refresh, limit)
    }

    /// Creates a list of objects in sections of any hashable type.
    ///
    /// If `sections` is given, the identifier is read from the first element of each section;
    /// otherwise it is read from every element. Adjacent elements with the same identifier form one
    /// section, so the identifier can be a computed value, for example the day in a list sorted by
    /// time.
    public init(
        where condition: TypedPredicate<Element>? = nil, sort: [SortKey<Element>],
        sections: PartialKeyPath<Element>? = nil,
        by identifier: @escaping (Element) -> SectionIdentifier,
        refresh: [PartialKeyPath<Element>] = [], limit: Int? = nil
    ) where Element: ManagedEntity {
        wrappedValue = SectionedFetchResults(sectionIdentifier: identifier)
        wrappedValue.setRequest(condition, sort, sections, refresh, limit)
    }
}

extension SectionedFetchResults {
    /// Creates a list of values made from objects, with named sections.
    public convenience init(
        source: ResultsSource<Element> = .none, request: ResultsRequest? = nil
    ) where SectionIdentifier == String, Element: ObjectValue {
        self.init(.values(.byName { $0 }), source: source, request: request)
    }

    /// Creates a list of objects with named sections.
    public convenience init(
        source: ResultsSource<Element> = .none, request: ResultsRequest? = nil
    ) where SectionIdentifier == String, Element: ManagedEntity {
        self.init(.objects(.byName { $0 }), source: source, request: request)
    }

    /// Creates a list of values with sections identified by their first elements; adjacent elements
    /// with the same identifier form one section.
    public convenience init(
        source: ResultsSource<Element> = .none, request: ResultsRequest? = nil,
        sectionIdentifier: @escaping (Element) -> SectionIdentifier
    ) where Element: ObjectValue {
        self.init(.values(.byElement(sectionIdentifier)), source: source, request: request)
    }

    /// Creates a list of objects with sections identified by their first elements; adjacent
    /// elements with the same identifier form one section.
    public convenience init(
        source: ResultsSource<Element> = .none, request: ResultsRequest? = nil,
        sectionIdentifier: @escaping (Element) -> SectionIdentifier
    ) where Element: ManagedEntity {
        self.init(.objects(.byElement(sectionIdentifier)), source: source, request: request)
    }

    /// Creates a list of literal values of any type, with named sections, for example for a
    /// preview.
    ///
    /// Views in modules without managed classes can be previewed and tested with such a list.
    /// `sectionName` returns the section name of a value; a new section begins where the name
    /// differs from the name of the previous value.
    ///
    ///     let teams = FetchedResults(
    ///         values: [TeamRow(name: "Cameroon", zone: "Africa")], sectionName: \.zone)
    public convenience init(
        values: [Element], sectionName: ((Element) -> String)? = nil
    ) where SectionIdentifier == String {
        self.init(
            .literals(.byName { $0 }), source: .values(values, sectionName: sectionName),
            request: nil)
    }

    /// Creates a list of literal values of any type, with sections identified by their first
    /// elements; adjacent elements with the same identifier form one section.
    ///
    ///     let days = SectionedFetchResults(values: entries, sectionIdentifier: \.day)
    public convenience init(
        values: [Element], sectionIdentifier: @escaping (Element) -> SectionIdentifier
    ) {
        self.init(
            .literals(.byElement(sectionIdentifier)), source: .values(values), request: nil)
    }

    /// Sets the request of the declared list.
    func setRequest<Object: ManagedObject>(
        _ condition: TypedPredicate<Object>?, _ sort: [SortKey<Object>],
        _ sections: PartialKeyPath<Object>?, _ refresh: [PartialKeyPath<Object>], _ limit: Int?
    ) {
        do throws(TandemError) {
            var refreshed: [String] = []
            for keyPath in refresh { refreshed.append(try KeyPathRecorder.name(of: keyPath)) }
            request = ResultsRequest(
                predicate: try condition?.objectPredicate, sort: sort.map(\.untyped),
                sectionNameKeyPath: try sections.map { keyPath throws(TandemError) in
                    try KeyPathRecorder.name(of: keyPath)
                }, relationshipKeyPathsForRefreshing: refreshed, limit: limit)
        } catch {
            fail(error, begin())
        }
    }
}
