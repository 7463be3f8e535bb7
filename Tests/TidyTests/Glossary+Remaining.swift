/// The replaced names that are not gone yet.
extension Glossary {
    /// The declarations that are still to be renamed, each as file and name.
    ///
    /// The list may only get shorter.
    static let remaining: Set<String> = [
        "Client/Tandem/Results/ControllerChange.swift: isNews",
        "Client/Tandem/Results/FetchedResultsController+Deciding.swift: laid",
        "Client/Tandem/Results/FetchedResultsController+Deciding.swift: placedList",
        "Client/Tandem/Results/FetchedResultsController+Overlay.swift: laid",
        "Client/Tandem/Results/FetchedResultsController+Showing.swift: isNews",
        "Daemon/TandemDaemon/Configuration/DaemonConfiguration.swift: RetentionPolicy",
    ]

    /// The files and folders that are still to be renamed.
    ///
    /// The list may only get shorter.
    static let remainingPaths: Set<String> = []
}
