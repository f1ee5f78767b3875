internal import ArgumentParser

/// Where the password or key comes from. There is no way to give one as an argument: arguments are public.
struct CredentialOptions: ParsableArguments {
    @Flag(help: "Read the password from standard input.")
    var passwordStdin = false

    @Option(help: ArgumentHelp("Read the password from this file.", valueName: "file"), completion: .file())
    var passwordFile: String?

    @Option(help: ArgumentHelp("Read an API key from this file.", valueName: "file"), completion: .file())
    var apiKeyFile: String?

    /// The flags as the search for credentials takes them.
    func flags(noInput: Bool) -> CredentialFlags {
        CredentialFlags(
            passwordStdin: passwordStdin,
            passwordFile: passwordFile,
            apiKeyFile: apiKeyFile,
            noInput: noInput
        )
    }
}
