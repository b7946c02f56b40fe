CREATE DATABASE ledger OWNER nodeworthy;
