package import Tandem
import TandemModel
import TandemQuery
import TandemResults

/// A controller with the result of replaying its changes, for comparison with a fresh controller.
@MainActor package final class Watch: FetchedResultsControllerDelegate {
    package let controller: FetchedResultsController<ManagedObject>
    private var replayed: [SectionIDs]
    private var failure: String?
    /// The rows that each change since the last check reported as reloaded.
    private var reports: [[UInt64]] = []
    /// The rows inserted or deleted by changes since the last check.
    private var passing: Set<UInt64> = []
    private var values: [UInt64: [String]] = [:]
    private let shape: ListShape
    /// The log and epoch of the last check.
    private var origin: Position?

    init(_ shape: ListShape, _ context: ManagedObjectContext) throws {
        self.shape = shape
        controller = try FetchedResultsController(
            fetchRequest: shape.request(), context: context, sectionNameKeyPath: shape.section,
            relationshipKeyPathsForRefreshing: shape.refresh)
        replayed = []
        try controller.performFetch()
        controller.delegate = self
        replayed = shown(controller)
        values = try rowValues()
        origin = context.position?.at(0)
    }

    private nonisolated var description: String {
        MainActor.assumeIsolated {
            let request = controller.fetchRequest
            let sort = request.sort.map(\.description)
            return
                "\(request.entity) where \(request.predicate?.description ?? "-") sort \(sort) section "
                + "\(controller.sectionNameKeyPath ?? "-") refresh "
                + "\(controller.relationshipKeyPathsForRefreshing) limit \(request.limit ?? -1) "
                + "offset \(request.offset) subentities \(request.includesSubentities)"
        }
    }

    private func shown(_ controller: FetchedResultsController<ManagedObject>) -> [SectionIDs] {
        controller.sections.map { section in
            SectionIDs(name: section.name, numbers: section.objectIDs.map(\.number))
        }
    }

    package nonisolated func controller(
        _ controller: FetchedResultsController<ManagedObject>, didChange change: ControllerChange
    ) {
        MainActor.assumeIsolated {
            do {
                replayed = try change.change.apply(to: replayed)
                reports.append(change.change.reloaded)
                let passing = change.change.objects.filter { $0.from == nil || $0.to == nil }
                self.passing.formUnion(passing.map(\.number))
            } catch {
                failure = "the change cannot be applied: \(error)"
            }
        }
    }

    /// Returns the violations of laws.
    ///
    /// Law 5: the replayed rows equal the shown ones. Law 4: the shown rows equal those of a fresh
    /// list, of a fetch, and of the plain rules applied to the graph.
    package func problems(_ dump: Dump) throws -> [String] {
        var problems = [failure].compactMap { $0 }
        func compare(_ what: String, _ a: [SectionIDs], _ b: [SectionIDs]) {
            if a != b { problems.append("\(what): \(Watch.text(a)) and \(Watch.text(b))") }
        }
        let shown = shown(controller)
        compare("law 5, replayed and shown", replayed, shown)
        problems += try reportProblems()
        if let expected = dump.sections(shape) {
            if let error = controller.error { problems.append("\(error)") }
            compare("law 4, shown and by plain rules", shown, expected)
            compare("law 4, shown and listed again", shown, try fresh())
            let fetched = try controller.context.fetch(controller.fetchRequest).map(\.id.number)
            let flat = expected.flatMap(\.numbers)
            if fetched != flat { problems.append("law 4, fetched \(fetched), not \(flat)") }
        } else if controller.error?.code != .outOfOrderSection {
            problems.append("sections are out of order, but the controller has no error")
        }
        return problems.map { "\($0); \(description)" }
    }

    /// Returns the sections that a new list of the same request shows.
    private func fresh() throws -> [SectionIDs] {
        let fresh = try FetchedResultsController(
            fetchRequest: controller.fetchRequest, context: controller.context,
            sectionNameKeyPath: controller.sectionNameKeyPath)
        try fresh.performFetch()
        return shown(fresh)
    }

    /// Checks law 5: rows that stay are reported once if anything in them differs, otherwise not at
    /// all.
    private func reportProblems() throws -> [String] {
        guard controller.error == nil else { return [] }
        let now: [UInt64: [String]]
        do { now = try rowValues() } catch { return ["a row cannot be read: \(error)"] }
        let differing = now.filter { number, value in values[number].map { $0 != value } ?? false }
        let reported = Set(reports.joined())
        var wrong = Set(differing.keys).subtracting(reported)
        // One of several changes can undo another, and after a change of epoch it is unknown which
        // rows are unchanged.
        if reports.count <= 1, origin == controller.context.position?.at(0) {
            wrong.formUnion(reported.subtracting(differing.keys))
        }
        // One change can delete a row that another one inserts again with other values.
        if reports.count > 1 { wrong.subtract(passing) }
        var problems = wrong.sorted().map {
            "law 5, reported? \($0): \(values[$0] ?? []) -> \(now[$0] ?? [])"
        }
        if reports.contains(where: { $0.count != Set($0).count }) {
            problems.append("law 5, reported twice: \(reports)")
        }
        origin = controller.context.position?.at(0)
        values = now
        reports = []
        passing = []
        return problems
    }

    private static func text(_ sections: [SectionIDs]) -> String {
        sections.map { "\($0.name)\($0.numbers)" }.joined(separator: " ")
    }

    /// Returns everything that rows show: their own values and members, and the values of the
    /// declared paths.
    private func rowValues() throws -> [UInt64: [String]] {
        var result: [UInt64: [String]] = [:]
        let paths =
            controller.relationshipKeyPathsForRefreshing
            + (try controller.fetchRequest.sort.map { try $0.component.keyPath })
            + [controller.sectionNameKeyPath].compactMap { $0 }
        for id in controller.fetchedObjectIDs {
            let object = try controller.context.existingObject(with: id)
            let own = object.entity.properties.map { property in
                property.isToMany
                    ? Watch.text(object.objects(property.name)) : "\(object[property.name])"
            }
            let reached = paths.map { Watch.reached([object], $0.split(separator: ".")[...]) }
            result[id.number] = own + reached
        }
        return result
    }

    private static func text(_ objects: some Sequence<ManagedObject>) -> String {
        "\(objects.map(\.id.number).sorted())"
    }

    private static func reached(
        _ objects: [ManagedObject], _ path: ArraySlice<Substring>
    ) -> String {
        guard let first = path.first.map(String.init) else { return text(objects) }
        var next: [ManagedObject] = []
        var values: [String] = []
        for object in objects {
            guard let property = object.entity.property(named: first) else { continue }
            if property.isToMany {
                next += object.objects(first)
            } else if property.relationship != nil {
                // A path with an empty relationship has the same value as one that ends in null.
                guard let target = object.object(first) else {
                    values.append("\(PropertyValue.null)")
                    continue
                }
                next.append(target)
            } else {
                values.append("\(object[first])")
            }
        }
        return next.isEmpty ? "\(values.sorted())" : reached(next, path.dropFirst())
    }
}
